/**
 * Returns a PostgreSQL array as the text that `$1::type[]` parses. Drivers and ORMs treat JavaScript arrays differently
 * (some spread them, some send JSON), but all of them send a text unchanged.
 */
export function arrayOf(values: readonly (string | number | bigint | null)[]): string {
  return `{${values.map(elementOf).join(',')}}`
}

function elementOf(value: string | number | bigint | null): string {
  if (value === null) return 'NULL'
  return typeof value === 'string' ? `"${value.replaceAll(/["\\]/g, '\\$&')}"` : String(value)
}
