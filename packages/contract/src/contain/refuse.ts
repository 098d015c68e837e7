import type { JsonType } from '../schema/json.ts'
import type { SchemaNode } from '../schema/schema-node.ts'
import { type Alternative, accepts, byAtoms, byKeyword, byLiterals, refuses } from './literal.ts'

/** Returns all ways in which a schema can refuse a value of a type that it lists: each keyword is one, or several. */
export function refusals(node: SchemaNode, type: JsonType): Alternative[] {
  const byType: Readonly<Record<JsonType, (node: SchemaNode) => Alternative[]>> = {
    number: refuseNumber,
    string: refuseText,
    array: refuseArray,
    object: refuseObject,
    boolean: () => [],
    null: () => [],
  }
  return [
    ...(node.enum === undefined ? [] : [byAtoms({ kind: 'NOT_ONE_OF', values: node.enum })]),
    ...byType[type](node),
    ...refuseLogic(node),
    ...(node.unknown ?? []).map((keyword) => byAtoms({ kind: 'UNDECIDED', keyword })),
  ]
}

function refuseNumber(node: SchemaNode): Alternative[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, types } = node
  return [
    ...(types?.has('integer') === true && !types.has('number') ? [byAtoms({ kind: 'NOT_MULTIPLE', step: 1 })] : []),
    ...(minimum === undefined ? [] : [byKeyword({ exclusiveMaximum: minimum })]),
    ...(maximum === undefined ? [] : [byKeyword({ exclusiveMinimum: maximum })]),
    ...(exclusiveMinimum === undefined ? [] : [byKeyword({ maximum: exclusiveMinimum })]),
    ...(exclusiveMaximum === undefined ? [] : [byKeyword({ minimum: exclusiveMaximum })]),
    ...(multipleOf === undefined ? [] : [byAtoms({ kind: 'NOT_MULTIPLE', step: multipleOf })]),
  ]
}

function refuseText({ minLength, maxLength, pattern, format }: SchemaNode): Alternative[] {
  return [
    ...(minLength === undefined || minLength <= 0 ? [] : [byKeyword({ maxLength: minLength - 1 })]),
    ...(maxLength === undefined ? [] : [byKeyword({ minLength: maxLength + 1 })]),
    ...(pattern === undefined ? [] : [byAtoms({ kind: 'NOT_PATTERN', pattern })]),
    ...(format === undefined ? [] : [byAtoms({ kind: 'NOT_FORMAT', format })]),
  ]
}

function itemRefusal(from: number, to: number, inner: SchemaNode): Alternative {
  return byAtoms({ kind: 'ITEM', from, to, literal: refuses(inner) })
}

function refuseArray(node: SchemaNode): Alternative[] {
  const { minItems, maxItems, prefixItems = [], items, contains, uniqueItems, unevaluatedItems } = node
  return [
    ...(minItems === undefined || minItems <= 0 ? [] : [byKeyword({ maxItems: minItems - 1 })]),
    ...(maxItems === undefined ? [] : [byKeyword({ minItems: maxItems + 1 })]),
    ...prefixItems.map((inner, index) => itemRefusal(index, index, inner)),
    ...(items === undefined ? [] : [itemRefusal(prefixItems.length, Number.POSITIVE_INFINITY, items)]),
    ...(uniqueItems === true ? [byAtoms({ kind: 'REPEATED_ITEM' })] : []),
    ...(contains === undefined ? [] : refuseContains(contains)),
    ...(unevaluatedItems === undefined ? [] : [byAtoms({ kind: 'UNDECIDED', keyword: 'unevaluatedItems' })]),
  ]
}

function refuseContains({ node, min, max }: NonNullable<SchemaNode['contains']>): Alternative[] {
  const tooFew: Alternative[] =
    min <= 0
      ? []
      : [
          byAtoms({ kind: 'EACH_ITEM', literal: refuses(node) }),
          // Some but too few: the search does not count, it checks what it finds.
          ...(min === 1 ? [] : [byAtoms({ kind: 'UNDECIDED', keyword: 'minContains' })]),
        ]
  if (max === Number.POSITIVE_INFINITY) return tooFew
  return [...tooFew, byKeyword({ contains: { node, min: max + 1, max: Number.POSITIVE_INFINITY } })]
}

function refuseObject(node: SchemaNode): Alternative[] {
  const { required = [], minProperties, maxProperties, properties = [], patternProperties = [] } = node
  const { additionalProperties, propertyNames, unevaluatedProperties } = node
  return [
    ...required.map((name) => byAtoms({ kind: 'ABSENT', name })),
    ...[...properties].map(([name, inner]) => byAtoms({ kind: 'MEMBER', name, literal: refuses(inner) })),
    ...patternProperties.map(([pattern, inner]) =>
      byAtoms({ kind: 'SOME_MEMBER', of: node, pattern, literal: refuses(inner) }),
    ),
    ...(additionalProperties === undefined
      ? []
      : [byAtoms({ kind: 'SOME_MEMBER', of: node, pattern: null, literal: refuses(additionalProperties) })]),
    ...(propertyNames === undefined ? [] : [byAtoms({ kind: 'SOME_NAME', refusedBy: propertyNames })]),
    ...(minProperties === undefined || minProperties <= 0 ? [] : [byKeyword({ maxProperties: minProperties - 1 })]),
    ...(maxProperties === undefined ? [] : [byKeyword({ minProperties: maxProperties + 1 })]),
    ...(unevaluatedProperties === undefined ? [] : [byAtoms({ kind: 'UNDECIDED', keyword: 'unevaluatedProperties' })]),
    ...refuseDependencies(node),
  ]
}

function refuseDependencies({ dependentRequired = [], dependentSchemas = [] }: SchemaNode): Alternative[] {
  return [
    ...dependentRequired.flatMap(([name, names]) =>
      names.map((needed) => ({
        ...byKeyword({ required: [name] }),
        atoms: [{ kind: 'ABSENT', name: needed } as const],
      })),
    ),
    ...dependentSchemas.map(([name, inner]) => byLiterals(...byKeyword({ required: [name] }).literals, refuses(inner))),
  ]
}

function refuseLogic(node: SchemaNode): Alternative[] {
  const { ref, allOf = [], anyOf, oneOf, not, if: branch } = node
  return [
    ...(ref === undefined ? [] : [byLiterals(refuses(ref))]),
    ...allOf.map((inner) => byLiterals(refuses(inner))),
    ...(anyOf === undefined ? [] : [byLiterals(...anyOf.map(refuses))]),
    ...(oneOf === undefined ? [] : refuseOneOf(oneOf)),
    ...(not === undefined ? [] : [byLiterals(accepts(not))]),
    ...(branch?.whenTrue === undefined ? [] : [byLiterals(accepts(branch.node), refuses(branch.whenTrue))]),
    ...(branch?.whenFalse === undefined ? [] : [byLiterals(refuses(branch.node), refuses(branch.whenFalse))]),
  ]
}

/** None of them holds, or two of them do. */
function refuseOneOf(nodes: readonly SchemaNode[]): Alternative[] {
  const pairs = nodes.flatMap((one, index) => nodes.slice(index + 1).map((other) => [one, other] as const))
  return [byLiterals(...nodes.map(refuses)), ...pairs.map(([one, other]) => byLiterals(accepts(one), accepts(other)))]
}
