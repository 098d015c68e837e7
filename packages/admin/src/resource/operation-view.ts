import type { OperationItem, OperationType, StoredOperation } from '@waybill/core/internal'
import { isPlainObject } from '@waybill/core/option'
import { instantOf } from '../json/write-json.ts'

/** Returns what an operation acts on: the kind of its subject, and the name in permissions. */
export function subjectOf({ type, target }: Pick<StoredOperation, 'type' | 'target'>): {
  readonly kind: 'binding' | 'outbox' | 'projection'
  readonly key: string
} {
  if (type === 'OUTBOX_REPLAY' || type === 'OUTBOX_PURGE') return { kind: 'outbox', key: target }
  if (type === 'PROJECTION_REBUILD') return { kind: 'projection', key: target }
  return { kind: 'binding', key: target.startsWith('default:') ? target.slice('default:'.length) : target }
}

/** How an operation is shown. */
export interface OperationViewOptions {
  readonly isDurable: boolean
  /** Whether the reader may see keys and texts of records. */
  readonly showsPayloads: boolean
}

/** Returns an operation as answers show it. */
export function operationView(operation: StoredOperation, { isDurable, showsPayloads }: OperationViewOptions): object {
  const { id, type, state, by, reason, rate, takeovers, outcomes, progress } = operation
  const subject = subjectOf(operation)
  return {
    id,
    type,
    state,
    by,
    reason: reason ?? null,
    binding: subject.kind === 'binding' ? subject.key : null,
    outbox: subject.kind === 'outbox' ? subject.key : null,
    projection: subject.kind === 'projection' ? subject.key : null,
    createdAt: instantOf(operation.createdAtMs),
    startedAt: instantOf(operation.startedAtMs),
    endedAt: instantOf(operation.endedAtMs),
    expiresAt: instantOf(operation.expiresAtMs),
    durable: isDurable,
    runner: operation.runner ?? null,
    leaseUntil: instantOf(operation.leaseUntilMs),
    takeovers,
    pausedBy: operation.pausedBy ?? null,
    wish: operation.wish ?? null,
    rate,
    request: requestView(type, operation.request, showsPayloads),
    plan: isPlainObject(operation.plan) ? operation.plan : {},
    progress: {
      scanned: progress.scanned,
      sent: progress.sent,
      refused: progress.refused,
      ...remainingOf(operation),
    },
    outcomes: { ...outcomes, unknown: unknownOf(operation), mayBeRepeated: progress.mayBeRepeated },
    trouble: troubleOf(operation),
  }
}

/** Returns a record of an operation as answers show it. */
export function itemView({ topic, partition, offset, outcome, detail }: OperationItem): object {
  return { id: `${topic}:${partition}:${offset}`, outcome, detail }
}

/** The offsets that are not decided yet; null for a type that continues by a cursor. */
function remainingOf({ state, rate, request, progress }: StoredOperation): object {
  const { limit } = (request ?? {}) as { readonly limit?: number }
  const isOver = state === 'DONE' || state === 'FAILED' || state === 'CANCELLED'
  const left = progress.remaining.reduce((sum, { from, until }) => sum + until - from, 0n)
  if (progress.remaining.length === 0 && !isOver) return { remaining: null, etaMs: null }
  const most = limit === undefined ? left : BigInt(limit) - progress.sent
  const next = most < left ? most : left
  return { remaining: left, etaMs: isOver ? null : Math.round((Number(next) / rate) * 1_000) }
}

/** Copies without an outcome. Operations that make no copies have none. */
function unknownOf({ type, request, outcomes, progress }: StoredOperation): bigint {
  const { next } = (request ?? {}) as { readonly next?: number }
  const copies: readonly OperationType[] = ['REPLAY', 'REPLAY_TO_TIER', 'EDIT_REPLAY']
  if (!copies.includes(type) || next !== undefined) return 0n
  const { succeeded, retrying, failedAgain, skipped } = outcomes
  const unknown = progress.sent - succeeded - retrying - failedAgain - skipped
  return unknown > 0n ? unknown : 0n
}

/** Texts of drivers may hold addresses and statements: only an error of Waybill shows its own. */
function troubleOf({ trouble }: StoredOperation): object | null {
  if (trouble === undefined) return null
  const { code, message } = trouble
  const isOwn = code !== undefined || /^waits for op_\w+$/.test(message)
  return { code: code ?? null, message: isOwn ? message : (message.split(':', 1)[0] ?? 'Error') }
}

/** An edit holds a payload, and a filter may hold a key or a part of a message. */
function requestView(type: OperationType, request: unknown, showsPayloads: boolean): object {
  if (!isPlainObject(request)) return {}
  const { edit, filter, ...rest } = request
  return {
    ...rest,
    ...(filter === undefined ? {} : { filter: showsPayloads ? filter : withoutTexts(filter) }),
    ...(type === 'EDIT_REPLAY' && isPlainObject(edit) ? { edit: editView(edit) } : {}),
  }
}

/** Returns a filter without what it looks for: a key, or a part of a message. */
export function withoutTexts(filter: unknown): object {
  if (!isPlainObject(filter)) return {}
  return Object.fromEntries(
    Object.entries(filter).map(([name, value]) => {
      return name === 'key' || name === 'text' ? [name, { hidden: true, bytes: String(value).length }] : [name, value]
    }),
  )
}

function editView({ value, setHeaders, removeHeaders }: Readonly<Record<string, unknown>>): object {
  return {
    ...(value === undefined ? {} : { valueBytes: typeof value === 'string' ? Buffer.byteLength(value, 'base64') : 0 }),
    ...(isPlainObject(setHeaders) ? { setHeaders: Object.keys(setHeaders) } : {}),
    ...(Array.isArray(removeHeaders) ? { removeHeaders } : {}),
  }
}
