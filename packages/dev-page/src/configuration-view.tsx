/** The forms of the configuration, as the host product shows them: one for each place. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { DrawnComponent } from './drawn-component.tsx';
import { type FieldView, type FormView, type Place, read, write } from './page-api.ts';
import { edits, generation, session } from './page-state.ts';

const HEADINGS: Readonly<Record<Place, string>> = {
  account: 'Configuration',
  space: 'Configuration in the sample space',
  site: 'Configuration in the sample site',
};

export function ConfigurationsView() {
  const { value } = session;
  if (value.live === null) return null;
  return (
    <>
      {value.configurations.map((place) => (
        <ConfigurationView key={place} place={place} />
      ))}
    </>
  );
}

function ConfigurationView({ place }: { place: Place }) {
  const form = useSignal<FormView | undefined>(undefined);
  const says = useSignal('');
  const load = async () => {
    form.value = await read<FormView>('configuration', { place });
  };
  const version = generation.value;
  const edit = edits.value;
  useEffect(() => void load().catch(showing(says)), [version, edit]);
  const save = async (event: SubmitEvent) => {
    event.preventDefault();
    const fields = form.value?.properties ?? [];
    const given = new FormData(event.currentTarget as HTMLFormElement);
    const configuration = Object.fromEntries(
      fields.filter(isEdited).map((field) => [field.name, givenValue(field, given)]),
    );
    says.value = '';
    try {
      await write('configuration', { place, configuration });
      await load();
      says.value = 'Saved.';
    } catch (error) {
      says.value = (error as Error).message;
    }
  };
  const { value } = form;
  if (value === undefined) return null;
  const { componentId, properties = [], problems = [], status } = value;
  if (componentId === undefined && properties.length === 0) return null;
  return (
    <section aria-labelledby={`configuration-${place}`}>
      <h2 id={`configuration-${place}`}>{HEADINGS[place]}</h2>
      <p>
        The installation {place === 'account' ? '' : 'there '}is <strong>{status}</strong>
        {status === 'active' && problems.length > 0 ? ', but the version that is live wants more:' : '.'}
      </p>
      {problems.map(({ property, message }) => (
        <p key={property} role="status">
          {property}: {message}
        </p>
      ))}
      {componentId === undefined ? (
        <form onSubmit={save}>
          {properties.map((field) => (
            <Field key={field.name} field={field} />
          ))}
          <button type="submit">Save</button>
        </form>
      ) : (
        <DrawnComponent id={componentId} place={place} />
      )}
      <p role="status">{says.value}</p>
    </section>
  );
}

const showing = (says: { value: string }) => (error: unknown) => {
  says.value = (error as Error).message;
};

/** A credential is set by the integration, and a button only leads there. */
const isEdited = ({ type, sealed }: FieldView): boolean => type !== 'button' && sealed !== true;

function Field({ field }: { field: FieldView }) {
  const { name, title, description, required, type, button_text, callback_url, sealed, isSet } = field;
  if (type === 'button')
    return (
      <p>
        <a href={callback_url ?? ''} target="_blank" rel="noopener noreferrer">
          {button_text ?? title ?? name}
        </a>{' '}
        {description}
      </p>
    );
  if (sealed)
    return (
      <p>
        {title ?? name}: {isSet ? 'is set' : 'is not set'}
      </p>
    );
  return (
    <p>
      <label>
        {title ?? name}
        {required ? ' *' : ''} <Control field={field} />
      </label>{' '}
      <small>{description}</small>
    </p>
  );
}

function Control({ field }: { field: FieldView }) {
  const { name, type, required, multiple = false } = field;
  const value = field.value ?? field.default;
  if (type === 'boolean') return <input name={name} type="checkbox" defaultChecked={value === true} />;
  if (field.enum !== undefined) {
    const chosen = multiple ? ((value as readonly string[] | undefined) ?? []) : [String(value ?? '')];
    return (
      <select name={name} multiple={multiple}>
        {!multiple && <option value="" />}
        {field.enum.map((choice) => (
          <option key={choice} value={choice} selected={chosen.includes(choice)}>
            {field.titles?.[choice] ?? choice}
          </option>
        ))}
      </select>
    );
  }
  const text = multiple ? ((value as readonly string[] | undefined) ?? []).join(',') : String(value ?? '');
  if (type === 'number')
    return <input name={name} type="number" step="any" defaultValue={text} required={required} />;
  return <input name={name} type="text" defaultValue={text} required={required} />;
}

/** The value of a field by its type; null removes it. */
function givenValue({ name, type, multiple, ...field }: FieldView, given: FormData): unknown {
  if (type === 'boolean') return given.has(name);
  if (multiple && field.enum !== undefined) return given.getAll(name);
  const text = String(given.get(name) ?? '');
  if (multiple) return text.split(',').filter((part) => part !== '');
  if (text === '') return null;
  return type === 'number' ? Number(text) : text;
}
