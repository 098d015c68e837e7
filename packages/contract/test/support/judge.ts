import { Ajv2020 } from 'ajv/dist/2020.js'
import ajvFormats from 'ajv-formats'
import type { JsonObject, JsonValue } from '../../src/schema/json.ts'

// Making an Ajv compiles its metaschemas, which takes longer than all else here.
const ajv = new Ajv2020({ strict: false, logger: false, ownProperties: true, multipleOfPrecision: 9 })
ajvFormats.default(ajv)

/** Returns a validator that has nothing to do with ours. */
export function judgeOf(schema: object | boolean): (value: unknown) => boolean {
  const validate = ajv.compile(withContainsApart(schema as JsonValue) as JsonObject)
  ajv.removeSchema()
  return (value) => validate(value)
}

/** Ajv 8.20 skips `contains` for an empty array if `prefixItems` is beside it. Apart from it the meaning is the same. */
function withContainsApart(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return (schema as readonly JsonValue[]).map(withContainsApart)
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries(schema as JsonObject)
  const members = Object.fromEntries(entries.map(([key, inner]) => [key, withContainsApart(inner)]))
  const { contains, minContains, maxContains, allOf = [], ...others } = members
  if (contains === undefined || others['prefixItems'] === undefined) return members
  const apart = {
    contains,
    ...(minContains === undefined ? {} : { minContains }),
    ...(maxContains === undefined ? {} : { maxContains }),
  }
  return { ...others, allOf: [...(allOf as readonly JsonValue[]), apart] }
}

/** Returns a schema that also refuses members which it does not declare, as writers do; everything else stays. */
export function closed(schema: JsonValue): JsonValue {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return schema
  const members = Object.fromEntries(
    Object.entries(schema as JsonObject).map(([key, inner]): [string, JsonValue] => {
      if (key === 'properties' || key === '$defs')
        return [
          key,
          Object.fromEntries(Object.entries(inner as JsonObject).map(([name, each]) => [name, closed(each)])),
        ]
      if (key === 'items' || key === 'additionalProperties') return [key, closed(inner)]
      if (key === 'prefixItems' || key === 'anyOf' || key === 'oneOf')
        return [key, (inner as readonly JsonValue[]).map(closed)]
      return [key, inner]
    }),
  )
  // A name that is required somewhere is declared, even where no schema describes it.
  const { required = [], dependentRequired = {}, then: consequence = {}, if: condition = {} } = schema as JsonObject
  const named = [
    ...(required as string[]),
    ...Object.entries(dependentRequired as Record<string, string[]>).flat(2),
    ...(((condition as JsonObject)['required'] ?? []) as string[]),
    ...(((consequence as JsonObject)['required'] ?? []) as string[]),
  ]
  const isClosing = members['properties'] !== undefined && members['additionalProperties'] === undefined
  const isTuple = members['prefixItems'] !== undefined && members['items'] === undefined
  const allOf = [
    ...((members['allOf'] ?? []) as JsonValue[]),
    ...(named.length === 0 ? [] : [{ properties: Object.fromEntries(named.map((name) => [name, true])) }]),
  ]
  return {
    ...members,
    ...(allOf.length === 0 ? {} : { allOf }),
    ...(isClosing ? { unevaluatedProperties: false } : {}),
    ...(isTuple ? { items: false } : {}),
  }
}
