/** Matches cheaply whether a closer look is needed. */
const mayEnd = /\b(commit|rollback|end|abort|prepare)\b/i

/** Text that is not searched: strings, quoted names, dollar-quoted bodies and comments. */
const opaque =
  /\be'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\//gi

const ending = /^\s*(commit|rollback|end|abort|prepare\s+transaction)\b(?![\s\S]*\bto\b)(?![\s\S]*\bchain\b)/i
const noChain = /\bno\s+chain\b/gi

/** Whether a statement, or one of several in a text, leaves PostgreSQL outside a transaction. */
export function endsTransaction(text: string): boolean {
  if (!mayEnd.test(text)) return false
  return text
    .replaceAll(opaque, ' ')
    .replaceAll(noChain, ' ')
    .split(';')
    .some((statement) => ending.test(statement))
}
