import { Ajv } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import ajvFormats from 'ajv-formats'
import { canonicalText, type JsonObject, type JsonValue } from '../../src/schema/json.ts'

const options = {
  strict: false,
  logger: false,
  ownProperties: true,
  multipleOfPrecision: 9,
  validateSchema: false,
} as const
const [draft07, draft2019, draft2020] = [new Ajv(options), new Ajv2019(options), new Ajv2020(options)]
// Before 2019-09 validators check formats.
ajvFormats.default(draft07)

/** Returns ajv's validator of a schema of any dialect; undefined for a schema that ajv does not compile. */
export function anyDialectJudgeOf(schema: JsonValue): ((value: JsonValue) => boolean) | undefined {
  const declared = canonicalText((schema as JsonObject | null)?.['$schema'] ?? '')
  const compilers = declared.includes('2019-09')
    ? [draft2019]
    : /draft-0?\d|json-schema\.org\/schema/.test(declared)
      ? [draft07]
      : [draft2020, draft07]
  for (const ajv of compilers)
    try {
      const validate = ajv.compile(withoutDraft04(schema) as JsonObject)
      return (value) => validate(value)
    } catch {
      // The next dialect, if there is one, may know the keyword.
    } finally {
      ajv.removeSchema()
    }
  return undefined
}

/** Returns a schema without `$schema`, and with the exclusive bounds of draft-04 as numbers. */
function withoutDraft04(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return (schema as readonly JsonValue[]).map(withoutDraft04)
  if (typeof schema !== 'object' || schema === null) return schema
  const members = new Map(Object.entries(schema as JsonObject))
  members.delete('$schema')
  for (const [bound, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    const [limit, isExclusive] = [members.get(bound), members.get(exclusive)]
    if (typeof isExclusive !== 'boolean') continue
    members.delete(exclusive)
    if (!isExclusive || limit === undefined) continue
    members.delete(bound)
    members.set(exclusive, limit)
  }
  return Object.fromEntries(Array.from(members, ([key, inner]) => [key, withoutDraft04(inner)]))
}
