import type {
  ErrorText,
  LogRange,
  OperationPause,
  OperationProgressJson,
  ReplayOutcomes,
  StoredOperation,
} from '@waybill/core/internal'
import { type LogRangeJson, progressFromJson, progressToJson, rangeFromJson } from '@waybill/core/internal'
import type { FoundRow } from './admin-statement.ts'

/** The version of the JSON in a row. A later version only adds members. */
export const rowVersion = 1

/** The part of an operation that never changes, as JSON. */
interface FrozenJson {
  readonly reason?: string
  readonly request: unknown
  readonly plan: unknown
}

/** The part of an operation that changes while it runs, as JSON. */
interface BodyJson {
  readonly rate: number
  readonly progress: OperationProgressJson
  readonly takeovers: number
  readonly pausedBy?: OperationPause
  readonly wish?: 'PAUSE' | 'CANCEL'
  readonly startedAtMs?: number
  readonly trouble?: ErrorText
}

/** The columns of an operation that a change writes. */
export interface OperationColumns {
  readonly state: string
  readonly expires_at: number | null
  readonly ended_at: number | null
  readonly owner: string | null
  readonly lease_version: bigint
  readonly lease_until: number | null
  readonly items: number
  readonly body: string
  readonly intended: string | null
}

/** A row of an operation. */
export interface OperationRow {
  readonly operation: StoredOperation
  readonly leaseVersion: bigint
  readonly items: number
  readonly intended: readonly LogRange[]
}

export const noOutcomes: ReplayOutcomes = { succeeded: 0n, retrying: 0n, failedAgain: 0n, skipped: 0n }

export function frozenOf({ reason, request, plan }: Pick<StoredOperation, 'reason' | 'request' | 'plan'>): string {
  return JSON.stringify({ reason, request, plan } satisfies { [K in keyof FrozenJson]: unknown })
}

export function bodyOf(operation: StoredOperation): string {
  const { rate, progress, takeovers, pausedBy, wish, startedAtMs, trouble } = operation
  return JSON.stringify({ rate, progress: progressToJson(progress), takeovers, pausedBy, wish, startedAtMs, trouble })
}

/** Reads a row. The outcomes are of another table. */
export function operationOf(row: FoundRow, outcomes: ReplayOutcomes): OperationRow {
  const { reason, request, plan } = JSON.parse(String(row['frozen'])) as FrozenJson
  const body = JSON.parse(String(row['body'])) as BodyJson
  const intended = row['intended'] as string | null
  return {
    operation: {
      id: String(row['id']),
      type: String(row['type']) as StoredOperation['type'],
      target: String(row['target']),
      state: String(row['state']) as StoredOperation['state'],
      by: String(row['by_whom']),
      reason,
      request,
      plan,
      rate: body.rate,
      progress: progressFromJson(body.progress),
      idempotencyKey: textOf(row['idempotency_key']),
      pausedBy: body.pausedBy,
      wish: body.wish,
      createdAtMs: Number(row['created_at']),
      startedAtMs: body.startedAtMs,
      endedAtMs: numberOf(row['ended_at']),
      expiresAtMs: numberOf(row['expires_at']),
      runner: textOf(row['owner']),
      leaseUntilMs: numberOf(row['lease_until']),
      takeovers: body.takeovers,
      trouble: body.trouble === undefined ? undefined : { code: body.trouble.code, message: body.trouble.message },
      outcomes,
    },
    leaseVersion: BigInt(String(row['lease_version'])),
    items: Number(row['items']),
    intended: intended === null ? [] : (JSON.parse(intended) as LogRangeJson[]).map(rangeFromJson),
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function numberOf(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : Number(value)
}
