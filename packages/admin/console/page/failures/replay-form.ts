/** The fields of a replay, and the operation that they describe. Pure. */

import type { Routes, Schemas } from '../../api/api-types.ts'

/** Which dead letters an operation takes. */
export interface Selection {
  readonly binding: string
  /** How it is called: "HttpError # from shipping-api". */
  readonly label: string
  /** Single ones; undefined: those of the filter. */
  readonly ids?: readonly string[] | undefined
  readonly filter?: Schemas['LetterFilterInput'] | undefined
  /** When the last of them died; undefined: not known. */
  readonly lastDiedAt?: string | null | undefined
}

/** Where copies go. */
export type ReplayWhere = 'DEFAULT' | 'BINDING' | 'ORIGINAL' | 'TIER'

/** The fields as they are typed: texts stay what the user wrote. */
export interface ReplayForm {
  readonly where: ReplayWhere
  readonly tier: string
  readonly firstCount: string
  readonly firstSeconds: string
  readonly asks: boolean
  readonly rate: string
  readonly abortPercent: string
  readonly abortMinimum: string
  readonly limit: string
  readonly maxReplays: string
  readonly reason: string
}

/** The first values: a few go first, then the operator decides. A single one needs neither. */
export function formFor({ ids }: Selection): ReplayForm {
  const isSingle = ids?.length === 1
  return {
    where: 'DEFAULT',
    tier: '1',
    firstCount: isSingle ? '0' : '5',
    firstSeconds: '60',
    asks: true,
    rate: '50',
    abortPercent: '5',
    abortMinimum: '20',
    limit: isSingle ? '1' : '10000',
    maxReplays: '',
    reason: '',
  }
}

type OperationBody = NonNullable<Routes['createOperation']['body']>

/** A field that cannot be sent. */
export interface FieldProblem {
  readonly field: keyof ReplayForm
  readonly text: string
}

const bounds = {
  tier: [1, 100],
  firstCount: [0, 1_000],
  firstSeconds: [0, 3_600],
  rate: [0.1, 10_000],
  abortPercent: [0, 100],
  abortMinimum: [1, 1_000_000],
  limit: [1, 1_000_000],
  maxReplays: [1, 1_000_000],
} as const satisfies Partial<Record<keyof ReplayForm, readonly [number, number]>>

/** Returns what is wrong with the fields. */
export function problemsOf(form: ReplayForm): readonly FieldProblem[] {
  return (Object.keys(bounds) as (keyof typeof bounds)[]).flatMap((field) => {
    if (field === 'tier' && form.where !== 'TIER') return []
    const text = form[field].trim()
    if (text === '' && field === 'maxReplays') return []
    const [least, most] = bounds[field]
    const value = Number(text)
    const isWhole = field === 'rate' || field === 'abortPercent' || Number.isInteger(value)
    const isValid = text !== '' && Number.isFinite(value) && isWhole && value >= least && value <= most
    return isValid ? [] : [{ field, text: `${least} to ${most}` }]
  })
}

/** Returns the operation. The fields have no problems. */
export function bodyOf({ binding, ids, filter = {} }: Selection, form: ReplayForm): OperationBody {
  const count = Number(form.firstCount)
  const reason = form.reason.trim()
  return {
    type: form.where === 'TIER' ? 'REPLAY_TO_TIER' : 'REPLAY',
    binding,
    ...(ids === undefined ? { filter } : { ids }),
    ...(form.where === 'TIER' ? { tier: Number(form.tier) } : {}),
    ...(form.where === 'BINDING' || form.where === 'ORIGINAL' ? { target: form.where } : {}),
    ...(form.maxReplays.trim() === '' ? {} : { maxReplays: Number(form.maxReplays) }),
    limit: Number(form.limit),
    rate: Number(form.rate),
    ...(count === 0
      ? {}
      : {
          canary: {
            count,
            settleMs: Math.round(Number(form.firstSeconds) * 1_000),
            // oxlint-disable-next-line unicorn/no-thenable -- a word of the API, never a function
            then: form.asks ? ('PAUSE' as const) : ('CONTINUE' as const),
          },
        }),
    abortWhen: { failureRate: Number(form.abortPercent) / 100, minimum: Number(form.abortMinimum) },
    ...(reason === '' ? {} : { reason }),
  }
}

/** The members of an operation that decide which records its plan counts. */
export function planKey(body: OperationBody): string {
  const { type, binding, filter, ids, tier, target, maxReplays } = body
  return JSON.stringify({ type, binding, filter, ids, tier, target, maxReplays })
}

/** The counts of a plan. */
export interface PlanCounts {
  /** Undefined: it was not counted. */
  readonly eligible: bigint | undefined
  readonly refused: readonly (readonly [reason: string, count: string])[]
  readonly keys: string | undefined
  readonly largestKeyRecords: string | undefined
  readonly bytes: number | undefined
  readonly topics: readonly string[]
}

/** Reads the plan of an operation. One of a newer server may hold more. */
export function planOf({ plan }: Pick<Schemas['Operation'], 'plan'>): PlanCounts {
  const refused = plan['refused']
  const eligible = digits(plan['eligible'])
  const bytes = digits(plan['bytes'])
  const targets = plan['targets']
  return {
    eligible: eligible === undefined ? undefined : BigInt(eligible),
    refused: typeof refused === 'object' && refused !== null ? Object.entries(refused as Record<string, string>) : [],
    keys: digits(plan['keys']),
    largestKeyRecords: digits(plan['largestKeyRecords']),
    bytes: bytes === undefined ? undefined : Number(bytes),
    topics: Array.isArray(targets) ? targets.flatMap((one) => topicOf(one)) : [],
  }
}

function digits(value: unknown): string | undefined {
  return typeof value === 'string' && /^\d+$/.test(value) ? value : undefined
}

function topicOf(target: unknown): readonly string[] {
  if (typeof target === 'string') return [target]
  const { topic } = (target ?? {}) as { readonly topic?: unknown }
  return typeof topic === 'string' ? [topic] : []
}

/** Returns how many records go at most: those that can, up to the limit. */
export function goingOf(eligible: bigint, limit: string): bigint {
  const most = /^\d+$/.test(limit.trim()) ? BigInt(limit.trim()) : eligible
  return most < eligible ? most : eligible
}
