/** The fields of an edit, and the request that they make. Pure. */

import type { Routes, Schemas } from '../../api/api-types.ts'
import { indented, jsonTokens } from '../../format/json-tokens.ts'

type Letter = Schemas['DeadLetterDetail']
type EditBody = NonNullable<Routes['editDeadLetter']['body']>

/** An edit as it is typed. */
export interface EditDraft {
  /** Undefined: the value is not changed. */
  readonly value: string | undefined
  /** New values by name. */
  readonly set: Readonly<Record<string, string>>
  readonly removed: readonly string[]
  readonly newEventId: boolean
  readonly force: boolean
  readonly reason: string
}

/** Nothing is changed. */
export const noEdit: EditDraft = { value: undefined, set: {}, removed: [], newEventId: false, force: false, reason: '' }

/** Why a value cannot be changed as text; undefined if it can. */
export function valueOf({
  value,
}: Pick<Letter, 'value'>): { readonly text: string } | { readonly off: 'hidden' | 'notText' | 'tooLarge' } {
  if (value === null) return { text: '' }
  if ('hidden' in value) return { off: 'hidden' }
  if (value.encoding !== 'utf8') return { off: 'notText' }
  return value.truncated === true ? { off: 'tooLarge' } : { text: value.text }
}

/** A header that may be changed. */
export interface EditableHeader {
  readonly name: string
  readonly isSensitive: boolean
  /** Undefined: it is not text, or hidden. */
  readonly text: string | undefined
}

/** Returns the headers that are not locked, each name once. */
export function editableHeaders({ headers }: Pick<Letter, 'headers'>): readonly EditableHeader[] {
  const byName = new Map<string, EditableHeader>()
  for (const { name, class: of, value } of headers)
    if (of !== 'LOCKED')
      byName.set(name, {
        name,
        isSensitive: of === 'SENSITIVE',
        text: value !== null && 'text' in value && value.encoding === 'utf8' ? value.text : undefined,
      })
  return [...byName.values()].slice(0, 100)
}

/** Returns the request; undefined if nothing differs. */
export function editBody(letter: Pick<Letter, 'value' | 'headers'>, draft: EditDraft): EditBody | undefined {
  const before = valueOf(letter)
  const given = new Map(editableHeaders(letter).map(({ name, text }) => [name, text]))
  const set = Object.entries(draft.set).filter(
    ([name, text]) => !draft.removed.includes(name) && given.get(name) !== text,
  )
  const isValue = draft.value !== undefined && (!('text' in before) || before.text !== draft.value)
  const removed = draft.removed.filter((name) => given.has(name))
  const isHeaders = set.length > 0 || removed.length > 0
  if (!isValue && !isHeaders) return undefined
  return {
    ...(isValue ? { value: draft.value } : {}),
    ...(isHeaders
      ? {
          headers: {
            ...(set.length === 0 ? {} : { set: Object.fromEntries(set) }),
            ...(removed.length === 0 ? {} : { remove: removed }),
          },
        }
      : {}),
    ...(draft.newEventId ? { newEventId: true } : {}),
    ...(draft.force ? { force: true } : {}),
    ...(draft.reason.trim() === '' ? {} : { reason: draft.reason.trim() }),
  }
}

/** Breaks JSON into lines, so that a difference is a line. What is no JSON stays. */
export function linesOf(text: string): string {
  const tokens = jsonTokens(text)
  return tokens === undefined
    ? text
    : indented(tokens)
        .map(({ text: part }) => part)
        .join('')
}
