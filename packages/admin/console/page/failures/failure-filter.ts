/** The filter of dead letters: in the URL, in queries, and in operations. Pure. */

import type { Routes, Schemas } from '../../api/api-types.ts'
import { type StateOf, textParam, wordParam } from '../../state/query-codec.ts'

/** The states of dead letters, and any of them. */
export const stateChoices = [
  'OPEN',
  'REPLAYED',
  'SUCCEEDED',
  'FAILED_AGAIN',
  'RESOLVED',
  'IGNORED',
  'RELEASED',
  'ANY',
] as const

/** The reasons of dead letters. */
export const reasonChoices = ['', 'RETRIES_EXHAUSTED', 'NON_RETRYABLE', 'MANUAL'] as const

/** The words of a filter in the URL: those of the API. */
export const filterParams = {
  q: textParam(),
  binding: textParam(),
  topic: textParam(),
  event: textParam(),
  exception: textParam(),
  reason: wordParam(reasonChoices, ''),
  state: wordParam(stateChoices, 'OPEN'),
  key: textParam(),
  traceId: textParam(),
  since: textParam(),
}

/** A filter. */
export type FailureFilter = StateOf<typeof filterParams>

type LetterQuery = Routes['listDeadLetters']['query']

/** Returns a filter as the API takes it. */
export function queryOf(filter: FailureFilter): LetterQuery {
  const { reason, state, ...texts } = filter
  return {
    ...present(texts),
    ...(reason === '' ? {} : { reason }),
    ...(state === 'ANY' ? {} : { state: [state] }),
  }
}

/** Returns a filter as operations take it. They are of one binding, and pass over what is not open by themselves. */
export function selectionOf(filter: FailureFilter): Schemas['LetterFilterInput'] {
  const { binding: _, state: _state, reason, ...texts } = filter
  return { ...present(texts), ...(reason === '' ? {} : { reason }) }
}

/** The parts of a filter that a user can take away, in the order of their names. */
export function chosenParts(
  filter: FailureFilter,
): readonly { readonly name: keyof FailureFilter; readonly value: string }[] {
  const names = ['binding', 'topic', 'event', 'exception', 'reason', 'key', 'traceId'] as const
  return names.map((name) => ({ name, value: filter[name] })).filter(({ value }) => value !== '')
}

/** Returns whether anything is filtered but the state. */
export function isFiltered(filter: FailureFilter): boolean {
  return chosenParts(filter).length > 0 || filter.q !== '' || filter.since !== ''
}

/** Where a span lies between two instants, as shares. A span without length is still seen. */
export function spanOf(
  { firstMs, lastMs }: { readonly firstMs: number; readonly lastMs: number },
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): { readonly start: number; readonly width: number } {
  const length = Math.max(1, toMs - fromMs)
  const share = (ms: number): number => Math.min(1, Math.max(0, (ms - fromMs) / length))
  const least = 0.04
  const start = Math.min(share(firstMs), 1 - least)
  return { start, width: Math.max(least, share(lastMs) - start) }
}

function present(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== ''))
}
