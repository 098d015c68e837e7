/**
 * Returns a value as Python prints it: the texts of the policy were specified in Python, and tools may match them.
 * Covers JSON values.
 */
export function pythonText(value: unknown): string {
  return typeof value === 'string' ? value : pythonLiteral(value)
}

/** Returns the set of these names as Python prints it, sorted: Python leaves the order open. */
export function pythonSet(names: readonly string[]): string {
  return names.length === 0 ? 'set()' : `{${names.toSorted().map(pythonLiteral).join(', ')}}`
}

function pythonLiteral(value: unknown): string {
  if (typeof value === 'number') return String(value)
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'string') return pythonQuoted(value)
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(', ')}]`
  if (typeof value === 'object' && value !== null)
    return `{${Object.entries(value)
      .map(([key, inner]) => `${pythonQuoted(key)}: ${pythonLiteral(inner)}`)
      .join(', ')}}`
  return 'None'
}

/** Python quotes with `'`, except where that alone would need an escape. */
function pythonQuoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const escaped = text
    .replaceAll('\\', '\\\\')
    .replaceAll(quote, `\\${quote}`)
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t')
  return `${quote}${escaped}${quote}`
}
