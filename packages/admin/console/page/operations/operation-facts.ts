/** Derives figures from the fields of an operation. Pure. */

import type { Schemas } from '../../api/api-types.ts'

type Operation = Schemas['Operation']

/** The outcomes of copies, in the order in which they are shown. */
export const outcomeKinds = ['succeeded', 'retrying', 'failedAgain', 'skipped', 'unknown'] as const

/** One of them. */
export type OutcomeKind = (typeof outcomeKinds)[number]

/** Returns what an operation acts on. */
export function subjectOf({
  binding,
  outbox,
  projection,
}: Pick<Operation, 'binding' | 'outbox' | 'projection'>): string {
  return binding ?? outbox ?? projection ?? '–'
}

/** Returns whether an operation has ended. */
export function isOver({ state }: Pick<Operation, 'state'>): boolean {
  return state === 'DONE' || state === 'FAILED' || state === 'CANCELLED'
}

/** Returns whether it is a plan, also one that was never started. */
export function isPlan({ state, startedAt }: Pick<Operation, 'state' | 'startedAt'>): boolean {
  return state === 'PLANNED' || (state === 'CANCELLED' && startedAt === null)
}

/**
 * Returns how many records an operation is about: those of its plan, up to its limit, without those that were refused against
 * the plan because another operator had handled them; undefined if it is not known.
 */
export function allOf({
  plan,
  request,
  progress,
}: Pick<Operation, 'plan' | 'request' | 'progress'>): bigint | undefined {
  const planned = digitsOf(plan['eligible'])
  if (planned === undefined)
    return progress.remaining === null ? undefined : BigInt(progress.sent) + BigInt(progress.remaining)
  const known = (plan['refused'] ?? {}) as Readonly<Record<string, unknown>>
  const late = Object.entries(progress.refused).reduce((sum, [reason, count]) => {
    const more = BigInt(count) - (digitsOf(known[reason]) ?? 0n)
    return more > 0n ? sum + more : sum
  }, 0n)
  const eligible = planned > late ? planned - late : 0n
  const limit = digitsOf(request['limit'])
  // A purge is one step with a limit of one, whatever it deletes.
  return limit !== undefined && limit < eligible && plan['byGroup'] === undefined ? limit : eligible
}

/** Copies with an outcome, and those among them that failed. */
export function settledOf({ outcomes }: Pick<Operation, 'outcomes'>): {
  readonly settled: bigint
  readonly failed: bigint
} {
  const { succeeded, retrying, failedAgain, skipped } = outcomes
  const failed = BigInt(retrying) + BigInt(failedAgain)
  return { settled: BigInt(succeeded) + BigInt(skipped) + failed, failed }
}

/** Returns whether an operation makes copies whose outcomes come back. */
export function hasOutcomes({ type }: Pick<Operation, 'type'>): boolean {
  return type === 'REPLAY' || type === 'REPLAY_TO_TIER' || type === 'EDIT_REPLAY'
}

/** The rule that stops an operation. */
export function abortRuleOf({
  request,
}: Pick<Operation, 'request'>): { readonly failureRate: number; readonly minimum: number } | undefined {
  const rule = request['abortWhen'] as
    | { readonly failureRate?: unknown; readonly minimum?: unknown }
    | false
    | undefined
  if (rule === undefined || rule === null || rule === false) return undefined
  const { failureRate, minimum } = rule
  return typeof failureRate === 'number' && typeof minimum === 'number' ? { failureRate, minimum } : undefined
}

/** Shares of a whole for a bar, in percent. They are rounded for drawing only. */
export function sharesOf(
  outcomes: Operation['outcomes'],
): readonly { readonly kind: OutcomeKind; readonly percent: number }[] {
  const counts = outcomeKinds.map((kind) => ({ kind, count: Number(outcomes[kind]) }))
  const all = counts.reduce((sum, { count }) => sum + count, 0)
  return counts.filter(({ count }) => count > 0).map(({ kind, count }) => ({ kind, percent: (100 * count) / all }))
}

/** A setting of an operation as text. */
export function settingText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === false) return 'off'
  if (typeof value !== 'object' || value === null) return String(value)
  const parts = Object.entries(value).map(([name, one]) => `${name} ${settingText(one)}`)
  return parts.length === 0 ? 'all' : parts.join(', ')
}

function digitsOf(value: unknown): bigint | undefined {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value)
  return typeof value === 'string' && /^\d+$/.test(value) ? BigInt(value) : undefined
}
