import { mapInnerSchemas } from '../schema/inner-schemas.ts'
import { canonicalText, isJsonObject, type JsonObject, type JsonValue } from '../schema/json.ts'

const annotations = new Set([
  '$schema',
  '$defs',
  '$comment',
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
])

/**
 * Returns a schema in one spelling, without a change of its meaning, so that another version of a library that spells the same
 * schema in another way does not change the contract file.
 */
export function normalizeSchema(schema: JsonObject): JsonObject {
  // A reference into a union would lead nowhere if the union were spelled in another way.
  const keepsUnions = /"\$ref":"#[^"]*\/anyOf\//.test(canonicalText(schema))
  const normal = normalize(schema, keepsUnions) as JsonObject
  return { ...normal, $schema: normal['$schema'] ?? 'https://json-schema.org/draft/2020-12/schema' }
}

function normalize(schema: JsonValue, keepsUnions: boolean): JsonValue {
  if (!isJsonObject(schema)) return schema
  const normal = mapInnerSchemas(schema, (inner) => normalize(inner, keepsUnions))
  return withSortedLists(keepsUnions ? normal : withTypeList(withListedValues(normal)))
}

/** A union of constants is a list of values: libraries without enumerations write it so. */
function withListedValues(schema: JsonObject): JsonObject {
  const { anyOf, ...others } = schema
  if (!Array.isArray(anyOf) || anyOf.length < 2 || ['type', 'enum', 'const'].some((key) => key in others)) return schema
  const branches = (anyOf as readonly JsonValue[]).filter(isConstant)
  const [{ type } = { type: undefined }] = branches
  if (branches.length < anyOf.length || branches.some((branch) => branch.type !== type)) return schema
  return { ...others, ...(type === undefined ? {} : { type }), enum: branches.map((branch) => branch.const) }
}

interface Constant {
  readonly const: JsonValue
  readonly type?: JsonValue
}

function isConstant(branch: JsonValue): branch is JsonObject & Constant {
  return (
    isJsonObject(branch) && 'const' in branch && Object.keys(branch).every((key) => key === 'const' || key === 'type')
  )
}

/** A union of types alone is a list of types, and a nullable type has null in its list. */
function withTypeList(schema: JsonObject): JsonObject {
  const { anyOf, ...others } = schema
  if (!Array.isArray(anyOf) || anyOf.length < 2 || 'type' in others) return schema
  const branches = anyOf as readonly JsonValue[]
  const types = branches.map((branch) =>
    isJsonObject(branch) && typeof branch['type'] === 'string' ? branch['type'] : undefined,
  )
  const isTyped = types.every((type) => type !== undefined) && new Set(types).size === types.length
  const overlap = types.includes('integer') && types.includes('number')
  const [full = {}, ...more] = branches.filter((branch) => isJsonObject(branch) && Object.keys(branch).length > 1)
  if (!isTyped || overlap || more.length > 0) return schema
  // These keywords concern every type, so they cannot leave their branch.
  const branch = full as JsonObject
  const leaves = ['enum', 'const', 'not', 'allOf', 'anyOf', 'oneOf', 'if', '$ref'].every((key) => !(key in branch))
  const isTaken = Object.keys(branch).some((key) => key in others)
  // Keywords beside the union do not see those of a branch: "additionalProperties" would take its properties for declared.
  const isAlone = Object.keys(others).every((key) => annotations.has(key))
  return leaves && !isTaken && isAlone ? { ...others, ...branch, type: types } : schema
}

function withSortedLists(schema: JsonObject): JsonObject {
  const { type, required, enum: listed, ...others } = schema
  const types = Array.isArray(type) ? sorted(type as readonly JsonValue[]) : undefined
  return {
    ...others,
    ...(type === undefined
      ? {}
      : { type: types === undefined ? type : types.length === 1 ? (types[0] ?? type) : types }),
    ...(Array.isArray(required)
      ? required.length === 0
        ? {}
        : { required: sorted(required as readonly JsonValue[]) }
      : {}),
    ...(Array.isArray(listed) ? { enum: sorted(listed as readonly JsonValue[]) } : {}),
  }
}

function sorted(values: readonly JsonValue[]): JsonValue[] {
  return values.toSorted((one, other) => (canonicalText(one) < canonicalText(other) ? -1 : 1))
}
