import { type ContractFinding, findingOf } from '../rule/finding.ts'
import { jsonEquals } from '../schema/json.ts'
import type { SchemaNode } from '../schema/schema-node.ts'
import { shortText } from './describe.ts'
import { withStatic } from './place.ts'

/** Recursive schemas have no end. */
const deepest = 250

/** Findings about changes that break no validation: changed defaults, missing defaults, apparent renames. */
export function notesOf(older: SchemaNode, newer: SchemaNode, isSameVersion: boolean): readonly ContractFinding[] {
  const notes: ContractFinding[] = []
  walk(older, newer, [], new Set(), (before, after, path) => {
    if (after.default !== undefined && before.default !== undefined && !jsonEquals(before.default, after.default))
      notes.push(
        findingOf('defaultChanged', {
          direction: 'BACKWARD',
          at: { older: before.pointer, newer: after.pointer },
          message: `default of ${path.join('.')}: ${shortText(before.default)} -> ${shortText(after.default)}; old events without it change their meaning`,
        }),
      )
    notes.push(...propertyNotes(before, after, path, isSameVersion))
  })
  return notes
}

function propertyNotes(
  before: SchemaNode,
  after: SchemaNode,
  path: readonly string[],
  isSameVersion: boolean,
): ContractFinding[] {
  const [old, next] = [membersOf(before), membersOf(after)]
  const [wasRequired, isRequired] = [requiredOf(before), requiredOf(after)]
  const added = [...next].filter(([name]) => !old.has(name) && !isRequired.has(name))
  const removed = [...old].filter(([name]) => !next.has(name) && !wasRequired.has(name))
  const notes: ContractFinding[] = []
  const [addedByText, removedByText] = [byText(added), byText(removed)]
  for (const [name, node] of added) {
    const place = [...path, name].join('.')
    const twins = node.text === undefined ? [] : (removedByText.get(node.text) ?? [])
    if (twins.length === 1 && addedByText.get(node.text)?.length === 1)
      notes.push(
        findingOf('looksRenamed', {
          direction: null,
          at: { older: twins[0]?.[1].pointer ?? null, newer: node.pointer },
          message: `${[...path, twins[0]?.[0] ?? ''].join('.')} looks renamed to ${place}: readers of either name miss the other`,
        }),
      )
    if (isSameVersion && withStatic([node]).every((each) => each.default === undefined))
      notes.push(
        findingOf('noDefault', {
          direction: 'BACKWARD',
          at: { older: null, newer: node.pointer },
          message: `${place} was added as optional without a default: handlers read undefined from old events`,
        }),
      )
  }
  return notes
}

type Member = readonly [name: string, node: SchemaNode]

function byText(members: readonly Member[]): ReadonlyMap<string | undefined, readonly Member[]> {
  const found = new Map<string | undefined, Member[]>()
  for (const member of members) {
    const [, { text }] = member
    const same = found.get(text)
    if (same === undefined) found.set(text, [member])
    else same.push(member)
  }
  return found
}

function walk(
  older: SchemaNode,
  newer: SchemaNode,
  path: readonly string[],
  seen: Set<string>,
  visit: (before: SchemaNode, after: SchemaNode, path: readonly string[]) => void,
): void {
  const key = `${older.id} ${newer.id}`
  if (path.length > deepest || seen.has(key) || (older.text !== undefined && older.text === newer.text)) return
  seen.add(key)
  visit(older, newer, path)
  const next = membersOf(newer)
  for (const [name, before] of membersOf(older)) {
    const after = next.get(name)
    if (after !== undefined) walk(before, after, [...path, name], seen, visit)
  }
  const [itemsBefore] = withStatic([older]).flatMap(({ items }) => items ?? [])
  const [itemsAfter] = withStatic([newer]).flatMap(({ items }) => items ?? [])
  if (itemsBefore !== undefined && itemsAfter !== undefined) walk(itemsBefore, itemsAfter, [...path, '[]'], seen, visit)
}

function membersOf(node: SchemaNode): ReadonlyMap<string, SchemaNode> {
  return new Map(withStatic([node]).flatMap(({ properties }) => [...(properties ?? [])]))
}

function requiredOf(node: SchemaNode): ReadonlySet<string> {
  return new Set(withStatic([node]).flatMap(({ required }) => required ?? []))
}
