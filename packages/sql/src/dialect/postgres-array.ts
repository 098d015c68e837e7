/**
 * A PostgreSQL array as the text that `$1::type[]` reads. Drivers and ORMs disagree on what they make of a JavaScript
 * array (some spread it, some send JSON), and all of them send a text.
 */
export function arrayOf(values: readonly (string | number | bigint | null)[]): string {
  return `{${values.map(elementOf).join(',')}}`
}

function elementOf(value: string | number | bigint | null): string {
  if (value === null) return 'NULL'
  return typeof value === 'string' ? `"${value.replaceAll(/["\\]/g, '\\$&')}"` : String(value)
}
