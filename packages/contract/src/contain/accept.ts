import type { JsonType } from '../schema/json.ts'
import { createNode, type SchemaNode } from '../schema/schema-node.ts'
import {
  type Alternative,
  accepts,
  byAtoms,
  byLiterals,
  type Choice,
  type Literal,
  mayHaveType,
  refuses,
} from './literal.ts'
import { areDisjoint } from './tags.ts'

/** The demands that follow from a schema that accepts a value, beside its own keywords of that type. */
export interface Acceptance {
  readonly literals: readonly Literal[]
  readonly choices: readonly Choice[]
}

/** Splits the logic of a schema that has to accept a value of a type. */
export function acceptance({ node, isWritten }: Literal, type: JsonType): Acceptance {
  const accept = (inner: SchemaNode): Literal => accepts(inner, isWritten)
  const literals = [
    ...(node.ref === undefined ? [] : [accept(node.ref)]),
    ...(node.allOf ?? []).map(accept),
    ...(node.not === undefined ? [] : [refuses(node.not)]),
  ]
  const choices = [
    ...(node.anyOf === undefined ? [] : [{ alternatives: anyAlternatives(node.anyOf, type, isWritten) }]),
    ...(node.oneOf === undefined ? [] : [{ alternatives: oneAlternatives(node.oneOf, type, isWritten) }]),
    ...(node.if === undefined ? [] : [{ alternatives: ifAlternatives(node.if, accept, isWritten) }]),
    ...(type === 'object' ? dependencyChoices(node, accept) : []),
  ]
  return { literals, choices }
}

function anyAlternatives(nodes: readonly SchemaNode[], type: JsonType, isWritten: boolean): Alternative[] {
  const possible = nodes.filter((node) => mayHaveType(node, type))
  return possible.map((node) => ({
    ...byLiterals(accepts(node, isWritten)),
    ...declaredBeside(node, possible, isWritten),
  }))
}

/** Members of the other branches count as declared, too, but for those that cannot hold together with the chosen one. */
function declaredBeside(
  node: SchemaNode,
  branches: readonly SchemaNode[],
  isWritten: boolean,
): Pick<Alternative, 'declares'> {
  return isWritten ? { declares: branches.filter((other) => other !== node && !areDisjoint(node, other)) } : {}
}

function oneAlternatives(nodes: readonly SchemaNode[], type: JsonType, isWritten: boolean): Alternative[] {
  const possible = nodes.filter((node) => mayHaveType(node, type))
  return possible.map((node) => ({
    ...byLiterals(accepts(node, isWritten), ...possible.filter((other) => other !== node).map(refuses)),
    ...declaredBeside(node, possible, isWritten),
  }))
}

function ifAlternatives(
  { node, whenTrue, whenFalse }: NonNullable<SchemaNode['if']>,
  accept: (node: SchemaNode) => Literal,
  isWritten: boolean,
): Alternative[] {
  const beside = (...others: readonly (SchemaNode | undefined)[]): Pick<Alternative, 'declares'> =>
    isWritten ? { declares: others.filter((other) => other !== undefined) } : {}
  return [
    { ...byLiterals(accept(node), ...(whenTrue === undefined ? [] : [accept(whenTrue)])), ...beside(whenFalse) },
    {
      ...byLiterals(refuses(node), ...(whenFalse === undefined ? [] : [accept(whenFalse)])),
      ...beside(node, whenTrue),
    },
  ]
}

function dependencyChoices(node: SchemaNode, accept: (node: SchemaNode) => Literal): Choice[] {
  const required = (node.dependentRequired ?? [])
    .filter(([, names]) => names.length > 0)
    .map(([name, names]) => ({
      alternatives: [byAtoms({ kind: 'ABSENT', name }), byLiterals(accepts(createNode('', { required: names })))],
    }))
  const schemas = (node.dependentSchemas ?? []).map(([name, inner]) => ({
    alternatives: [byAtoms({ kind: 'ABSENT', name }), byLiterals(accept(inner))],
  }))
  return [...required, ...schemas]
}
