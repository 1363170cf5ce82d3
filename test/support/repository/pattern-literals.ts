/**
 * Finds the regular expression literals of a source file, with the scanner of the TypeScript
 * compiler.
 */
import { SyntaxKind } from 'typescript/unstable/ast';
import { createScanner } from 'typescript/unstable/ast/scanner';

/** A literal with its position. */
export interface PatternLiteral {
  readonly line: number;
  readonly pattern: RegExp;
}

/**
 * After a name or one of these tokens a slash divides; after any other it opens a regular
 * expression.
 */
const OPERAND_ENDS: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.PrivateIdentifier,
  SyntaxKind.NumericLiteral,
  SyntaxKind.BigIntLiteral,
  SyntaxKind.StringLiteral,
  SyntaxKind.NoSubstitutionTemplateLiteral,
  SyntaxKind.TemplateTail,
  SyntaxKind.RegularExpressionLiteral,
  SyntaxKind.CloseParenToken,
  SyntaxKind.CloseBracketToken,
  SyntaxKind.CloseBraceToken,
  SyntaxKind.ThisKeyword,
  SyntaxKind.SuperKeyword,
  SyntaxKind.TrueKeyword,
  SyntaxKind.FalseKeyword,
  SyntaxKind.NullKeyword,
]);

export function patternLiterals(source: string): PatternLiteral[] {
  const scanner = createScanner(true, undefined, source);
  const found: PatternLiteral[] = [];
  /** For each open template, the number of open braces in its expression. */
  const templates: number[] = [];
  let isAfterOperand = false;
  for (let token = scanner.scan(); token !== SyntaxKind.EndOfFile; token = scanner.scan()) {
    const open = templates.length - 1;
    if (token === SyntaxKind.OpenBraceToken && open >= 0) templates[open] = (templates[open] ?? 0) + 1;
    if (token === SyntaxKind.CloseBraceToken && open >= 0) {
      if (templates[open] === 0) {
        token = scanner.reScanTemplateToken(false);
        if (token === SyntaxKind.TemplateTail) templates.pop();
      } else {
        templates[open] = (templates[open] ?? 0) - 1;
      }
    }
    if (token === SyntaxKind.TemplateHead) templates.push(0);
    const isSlash = token === SyntaxKind.SlashToken || token === SyntaxKind.SlashEqualsToken;
    if (isSlash && !isAfterOperand) {
      token = scanner.reScanSlashToken();
      found.push({
        line: source.slice(0, scanner.getTokenStart()).split('\n').length,
        pattern: literal(scanner.getTokenText()),
      });
    }
    // Some words, like `from`, are names outside the statements that they belong to.
    isAfterOperand = OPERAND_ENDS.has(token) || scanner.isIdentifier();
  }
  return found;
}

function literal(text: string): RegExp {
  const end = text.lastIndexOf('/');
  return new RegExp(text.slice(1, end), text.slice(end + 1));
}
