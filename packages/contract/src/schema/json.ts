/** A value of a JSON text. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject

/** An object of a JSON text. */
export interface JsonObject {
  readonly [key: string]: JsonValue
}

/** The types that JSON tells apart; integers are numbers. */
export type JsonType = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object'

/** All types, the most telling ones first: an example of an event is searched in this order. */
export const jsonTypes: readonly JsonType[] = ['object', 'string', 'number', 'array', 'boolean', 'null']

/** Returns the JSON type of a value; undefined for what JSON cannot hold. */
export function jsonTypeOf(value: unknown): JsonType | undefined {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  const type = typeof value
  return type === 'boolean' || type === 'string' || type === 'object' || (type === 'number' && Number.isFinite(value))
    ? type
    : undefined
}

/** Tells whether a value is an object of a JSON text. */
export function isJsonObject(value: unknown): value is JsonObject {
  return jsonTypeOf(value) === 'object'
}

/** Returns the JSON text with sorted keys: equal values have equal texts. */
export function canonicalText(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => (isJsonObject(inner) ? sortedKeys(inner) : inner))
}

/** Tells whether JSON Schema takes two values for the same: 1 and 1.0 are, and the order of keys does not count. */
export function jsonEquals(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object') return false
  return canonicalText(one) === canonicalText(other)
}

function sortedKeys(value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, value[key] as JsonValue]),
  )
}

/** Returns the JSON Pointer of a member. */
export function pointerTo(pointer: string, ...keys: readonly (string | number)[]): string {
  return keys.reduce<string>(
    (path, key) => `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`,
    pointer,
  )
}

/** Returns the keys of a JSON Pointer. */
export function pointerKeys(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}
