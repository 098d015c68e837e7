import type { JsonType, JsonValue } from './json.ts'

/** A type name of a schema. */
export type SchemaType = JsonType | 'integer'

/**
 * A schema in one form for all dialects: `const` is an `enum` of one, a list under `items` is `prefixItems`, `dependencies`
 * are split, and references are followed. A reference is a node with `ref`, so that recursion ends.
 */
export interface SchemaNode {
  /** Unique in the process: pairs of nodes of two documents have one key. */
  readonly id: number
  /** JSON Pointer in its document. */
  readonly pointer: string
  /** True for the schema `false`. */
  isNever: boolean
  /** Set for a schema without references: equal texts mean the same in every document of its dialect. */
  text?: string
  title?: string
  types?: ReadonlySet<SchemaType>
  enum?: readonly JsonValue[]
  default?: JsonValue

  minimum?: number
  exclusiveMinimum?: number
  maximum?: number
  exclusiveMaximum?: number
  multipleOf?: number

  minLength?: number
  maxLength?: number
  pattern?: string
  format?: string

  prefixItems?: readonly SchemaNode[]
  items?: SchemaNode
  unevaluatedItems?: SchemaNode
  contains?: { readonly node: SchemaNode; readonly min: number; readonly max: number }
  minItems?: number
  maxItems?: number
  uniqueItems?: boolean

  properties?: ReadonlyMap<string, SchemaNode>
  patternProperties?: readonly (readonly [pattern: string, node: SchemaNode])[]
  additionalProperties?: SchemaNode
  unevaluatedProperties?: SchemaNode
  propertyNames?: SchemaNode
  required?: readonly string[]
  minProperties?: number
  maxProperties?: number
  dependentRequired?: readonly (readonly [name: string, names: readonly string[]])[]
  dependentSchemas?: readonly (readonly [name: string, node: SchemaNode])[]

  ref?: SchemaNode
  allOf?: readonly SchemaNode[]
  anyOf?: readonly SchemaNode[]
  oneOf?: readonly SchemaNode[]
  not?: SchemaNode
  if?: { readonly node: SchemaNode; readonly whenTrue?: SchemaNode; readonly whenFalse?: SchemaNode }

  /** Keywords with a meaning that is not known here; a verdict that depends on one is not given. */
  unknown?: readonly string[]
}

let lastId = 0

/** Creates a node that accepts everything. */
export function createNode(pointer: string, fields: Partial<SchemaNode> = {}): SchemaNode {
  lastId += 1
  return { id: lastId, pointer, isNever: false, ...fields }
}
