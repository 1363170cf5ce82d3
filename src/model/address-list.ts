/**
 * The operator's list of IP addresses and ranges, such as `10.0.0.0/8,127.0.0.1,fd00::/8`.
 */
import { BlockList, isIP } from 'node:net';

const ENTRY = /^([^/]+)(?:\/(\d{1,3}))?$/;

export class AddressList {
  readonly #list = new BlockList();
  #size = 0;

  /** @returns the list of all valid entries, and the text of each invalid one */
  static parse(text: string): { list: AddressList; mistakes: string[] } {
    const list = new AddressList();
    const entries = text.split(',').map((entry) => entry.trim());
    return { list, mistakes: entries.filter((entry) => entry !== '' && !list.#add(entry)) };
  }

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /**
   * @param address as a socket reports it; IPv4 mapped to IPv6 (`::ffff:10.0.0.1`) matches as IPv4
   */
  has(address: string): boolean {
    return this.#size > 0 && this.#list.check(address, familyOf(address));
  }

  #add(entry: string): boolean {
    const [, address = '', bits] = ENTRY.exec(entry) ?? [];
    const version = isIP(address);
    const bitsMax = version === 4 ? 32 : 128;
    if (version === 0 || Number(bits ?? bitsMax) > bitsMax) return false;
    this.#list.addSubnet(address, Number(bits ?? bitsMax), familyOf(address));
    this.#size += 1;
    return true;
  }
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (address.includes(':') ? 'ipv6' : 'ipv4');
