import { mapInnerSchemas } from '../schema/inner-schemas.ts'
import { isJsonObject, type JsonValue } from '../schema/json.ts'

/**
 * Returns a schema whose references lead to the same places after it has moved to a place inside another document. Readers of
 * such a document resolve `#` to its root, not to that of the schema.
 */
export function moveReferences(schema: JsonValue, place: string): JsonValue {
  if (!isJsonObject(schema)) return schema
  const { $ref: reference } = schema
  const moved = mapInnerSchemas(schema, (inner) => moveReferences(inner, place))
  const isInside = typeof reference === 'string' && (reference === '#' || reference.startsWith('#/'))
  return isInside ? { ...moved, $ref: `${place}${reference.slice(1)}` } : moved
}
