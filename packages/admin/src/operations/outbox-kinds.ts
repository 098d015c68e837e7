import { ArgumentError, type OperatorIdentity } from '@waybill/core'
import type { StoredOperation } from '@waybill/core/internal'
import { cursorOf } from './decide-step.ts'
import type { AppliedBatch, OperationKind, OperationSession, PlannedOperation, RunBatch } from './operation-kind.ts'
import { readOutboxRequest } from './operation-request.ts'

/** A DEAD event, as far as operations know it. */
export interface OperatedDeadEvent {
  readonly seq: bigint
  readonly eventId: string
  readonly diedAt: number | null
}

type Selection = {
  readonly eventType?: string | undefined
  readonly aggregateType?: string | undefined
  /** Epoch ms. */
  readonly diedUntil?: number | undefined
}

/** The DEAD events of an outbox: `createDeadEvents` with `throwOnError: true`. */
export interface OperatedDeadEvents {
  query(
    query: Selection & { readonly limit: number; readonly after?: bigint | undefined },
    operator: OperatorIdentity,
  ): Promise<readonly OperatedDeadEvent[]>
  replayAll(filter: { readonly eventIds: readonly string[] }, operator: OperatorIdentity): Promise<number>
  /** Deletes DEAD events. @defaultValue OUTBOX_PURGE is refused */
  purge?(filter: { readonly eventIds: readonly string[] }, operator: OperatorIdentity): Promise<number>
  count(filter: Selection, operator: OperatorIdentity): Promise<number>
}

/** An outbox whose DEAD events operations replay and purge. */
export interface OperatedOutbox {
  readonly deadEvents: OperatedDeadEvents
}

interface FrozenOutbox extends Selection {
  readonly outbox: string
  /** Events that died later are not part of the selection: they may have died again after this operation replayed them. */
  readonly diedBeforeMs: number
}

/** Creates a kind of operations on DEAD events. Only a DEAD event is changed, so a repeat changes nothing. */
export function createOutboxKind(
  type: 'OUTBOX_REPLAY' | 'OUTBOX_PURGE',
  outboxes: Readonly<Record<string, OperatedOutbox>>,
  now: () => number,
): OperationKind {
  const find = (outbox: string): OperatedDeadEvents => {
    const found = Object.hasOwn(outboxes, outbox) ? outboxes[outbox]?.deadEvents : undefined
    if (found === undefined) throw new ArgumentError(`There is no outbox '${outbox}' in this process.`)
    if (type === 'OUTBOX_PURGE' && found.purge === undefined)
      throw new ArgumentError(`DEAD events of outbox '${outbox}' cannot be purged here.`)
    return found
  }
  return {
    type,
    isIdempotent: true,
    isExclusive: false,
    async plan(given, operator): Promise<PlannedOperation> {
      const { outbox, eventType, aggregateType, olderThanMs = 0, type: _, ...limits } = readOutboxRequest(given)
      const selection = {
        ...(eventType === undefined ? {} : { eventType }),
        ...(aggregateType === undefined ? {} : { aggregateType }),
      }
      const diedBeforeMs = now() - olderThanMs
      const matched = await find(outbox).count({ ...selection, diedUntil: diedBeforeMs }, operator)
      const request = { outbox, ...selection, diedBeforeMs, ...limits }
      return { target: outbox, request, ranges: [], plan: { matched: String(matched) } }
    },
    async open({ request, progress }: StoredOperation, operator): Promise<OperationSession> {
      const { outbox, diedBeforeMs, ...rest } = request as FrozenOutbox
      const { eventType, aggregateType } = rest
      const events = find(outbox)
      let after = positionOf(cursorOf(progress).position)
      let ids: readonly string[] = []
      return {
        async next(maxCount): Promise<RunBatch | undefined> {
          const found = await events.query(
            { eventType, aggregateType, diedUntil: diedBeforeMs, limit: maxCount, after },
            operator,
          )
          const last = found.at(-1)
          if (last === undefined) return undefined
          after = last.seq
          ids = found.filter(({ diedAt }) => (diedAt ?? 0) <= diedBeforeMs).map(({ eventId }) => eventId)
          return {
            scanned: found.length,
            count: ids.length,
            intended: [],
            refused: [],
            remaining: [],
            position: { after: String(last.seq) },
          }
        },
        async apply(): Promise<AppliedBatch> {
          const filter = { eventIds: ids }
          const sent =
            type === 'OUTBOX_REPLAY' ? await events.replayAll(filter, operator) : await events.purge?.(filter, operator)
          return { sent: sent ?? 0, refused: [], unsent: [], unknown: [], failure: undefined }
        },
        async [Symbol.asyncDispose]() {},
      }
    },
  }
}

function positionOf(position: unknown): bigint | undefined {
  const { after } = (position ?? {}) as { readonly after?: string }
  return after === undefined ? undefined : BigInt(after)
}
