import type { JsonType, JsonValue } from '../schema/json.ts'
import { createNode, type SchemaNode } from '../schema/schema-node.ts'

/** A demand on a value: a schema accepts it, or refuses it. */
export interface Literal {
  readonly node: SchemaNode
  readonly holds: boolean
  /** Whether the value is written by this schema: it then has declared members only. */
  readonly isWritten: boolean
  /** Set for a schema that the value need not fit: its members count as declared beside those of the schemas that it fits. */
  readonly isBeside?: true
}

/** A demand that no schema expresses. */
export type Atom =
  | { readonly kind: 'NOT_ONE_OF'; readonly values: readonly JsonValue[] }
  | { readonly kind: 'NOT_MULTIPLE'; readonly step: number }
  | { readonly kind: 'NOT_PATTERN'; readonly pattern: string }
  | { readonly kind: 'NOT_FORMAT'; readonly format: string }
  /** One of the items from `from` to `to` fulfills the literal. */
  | { readonly kind: 'ITEM'; readonly from: number; readonly to: number; readonly literal: Literal }
  | { readonly kind: 'EACH_ITEM'; readonly literal: Literal }
  | { readonly kind: 'REPEATED_ITEM' }
  | { readonly kind: 'ABSENT'; readonly name: string }
  | { readonly kind: 'MEMBER'; readonly name: string; readonly literal: Literal }
  /** A member whose name matches a pattern of the node; null for one that the node mentions nowhere. */
  | {
      readonly kind: 'SOME_MEMBER'
      readonly of: SchemaNode
      readonly pattern: string | null
      readonly literal: Literal
    }
  | { readonly kind: 'SOME_NAME'; readonly refusedBy: SchemaNode }
  /** A demand of a keyword that is not understood: the value found has to be checked. */
  | { readonly kind: 'UNDECIDED'; readonly keyword: string }

/** One way to fulfill a demand. */
export interface Alternative {
  readonly literals: readonly Literal[]
  readonly atoms: readonly Atom[]
  /** Schemas that may hold beside the chosen one, whose members a writer may write, too. */
  readonly declares?: readonly SchemaNode[]
}

/** A demand that can be fulfilled in several ways. */
export interface Choice {
  readonly alternatives: readonly Alternative[]
  /** The schema that has to refuse the value, if that is the demand. */
  readonly denied?: SchemaNode
}

/** The demand that a schema accepts. */
export function accepts(node: SchemaNode, isWritten = false): Literal {
  return { node, holds: true, isWritten }
}

/** The demand that a schema refuses. */
export function refuses(node: SchemaNode): Literal {
  return { node, holds: false, isWritten: false }
}

/** No demand, but the members of a schema may be written, too. */
export function declares(node: SchemaNode): Literal {
  return { node, holds: true, isWritten: true, isBeside: true }
}

/** The alternative of some literals. */
export function byLiterals(...literals: readonly Literal[]): Alternative {
  return { literals, atoms: [] }
}

/** The alternative of some atoms. */
export function byAtoms(...atoms: readonly Atom[]): Alternative {
  return { literals: [], atoms }
}

/** The alternative that a schema of one keyword accepts. */
export function byKeyword(fields: Partial<SchemaNode>): Alternative {
  return byLiterals(accepts(createNode('', fields)))
}

/** Tells whether a schema may accept values of a type. */
export function mayHaveType(node: SchemaNode, type: JsonType): boolean {
  return (
    !node.isNever &&
    (node.types === undefined || node.types.has(type) || (type === 'number' && node.types.has('integer')))
  )
}
