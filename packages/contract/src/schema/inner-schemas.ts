import { isJsonObject, type JsonObject, type JsonValue } from './json.ts'

/** Keywords of all dialects that hold schemas by name. */
const maps = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'])
/** Keywords that hold lists of schemas. Before 2020-12, `items` may be one. */
const lists = new Set(['prefixItems', 'allOf', 'anyOf', 'oneOf', 'items'])
const singles = new Set([
  'items',
  'additionalItems',
  'contains',
  'additionalProperties',
  'propertyNames',
  'not',
  'if',
  'then',
  'else',
  'unevaluatedProperties',
  'unevaluatedItems',
])

/** Returns a schema with each schema directly inside it changed. Data stays, such as listed values and defaults. */
export function mapInnerSchemas(schema: JsonObject, change: (inner: JsonValue) => JsonValue): JsonObject {
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]): [string, JsonValue] => {
      if (maps.has(key) && isJsonObject(value))
        return [key, Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, change(inner)]))]
      if (lists.has(key) && Array.isArray(value)) return [key, (value as readonly JsonValue[]).map(change)]
      return singles.has(key) ? [key, change(value)] : [key, value]
    }),
  )
}
