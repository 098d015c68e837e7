import type { JsonType, JsonValue } from '../schema/json.ts'
import type { SchemaNode } from '../schema/schema-node.ts'
import type { Answer } from './answer.ts'
import type { Atom, Choice, Literal } from './literal.ts'

/** All demands on one value of one type, with no choice left in them: the keywords of its type decide. */
export interface Demands {
  readonly type: JsonType
  /** The schemas that accept it. */
  readonly accepted: readonly Literal[]
  readonly nodes: readonly SchemaNode[]
  readonly atoms: readonly Atom[]
  readonly isInteger: boolean
  /** Schemas whose members a writer may write beside those of `accepted`. */
  readonly declares: readonly SchemaNode[]
}

/** The demands on one value while they are collected. */
export class OpenDemands implements Demands {
  readonly type: JsonType
  readonly accepted: Literal[]
  readonly atoms: Atom[]
  readonly declares: SchemaNode[]
  readonly choices: Choice[]
  readonly seen: Set<string>
  isInteger = false
  /** The values that a schema lists; undefined while none does. */
  values: readonly JsonValue[] | undefined

  constructor(type: JsonType, from?: OpenDemands) {
    this.type = type
    this.accepted = [...(from?.accepted ?? [])]
    this.atoms = [...(from?.atoms ?? [])]
    this.declares = [...(from?.declares ?? [])]
    this.choices = [...(from?.choices ?? [])]
    this.seen = new Set(from?.seen)
    this.isInteger = from?.isInteger ?? false
    this.values = from?.values
  }

  get nodes(): readonly SchemaNode[] {
    return this.accepted.map(({ node }) => node)
  }
}

/** Solves the demands on a member or an item. */
export type SolveMember = (literals: readonly Literal[]) => Answer
