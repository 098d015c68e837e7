/**
 * Moves the committed positions of a group without members: the broker refuses the write as long as the group has any,
 * in any process.
 *
 *     read commits, log ends ─▶ audit ─▶ plan every partition ─▶ one refused: stop ─▶ one write ─▶ read back
 *
 * | failure | consequence |
 * |---|---|
 * | a partition cannot be planned | nothing is written |
 * | the group has members | the broker refuses; nothing is written |
 * | no answer to the write | the commits are read back; PositionUnknownError where they do not show the move |
 *
 * A transactional binding is moved in transactions: see move-in-transactions.ts.
 */

import { ArgumentError, type OperatorIdentity, type Runtime } from '@waybill/core'
import { engineChannel } from '@waybill/core/internal'
import { type Admin, adminResultsOf, requireAllDone, type TopicPartition } from '@waybill/kafka'
import { type PartitionResult } from '@waybill/kafka/internal'
import type { AuditRow } from '../api/connector-report.ts'
import type { ContainerPlace } from '../api/container-place.ts'
import { type PositionCommand, type PositionReport, whichOf } from '../api/position-command.ts'
import { PositionRefusedError, PositionUnknownError } from '../api/position-errors.ts'
import { decodeCommitMetadata, encodeCommitMetadata } from '../ledger/commit-metadata.ts'
import { auditRow } from '../losses/audit-report.ts'
import { containerPlacesOf } from '../options/container-places.ts'
import type { AdministeredBinding } from './administered-binding.ts'
import { offsetsAt, partitionsOf } from './log-offsets.ts'
import { moveInTransactions, type Planned, type Reading } from './move-in-transactions.ts'
import { type IdlePartition, type PlannedPosition, planPosition } from './plan-position.ts'
import { type RequestedMove, resolveMoves } from './resolve-moves.ts'

/** The dependencies of position operations. */
export interface PositionOperationsDeps {
  readonly runtime: Runtime
  /** Receives the audit before a move: earlier losses must not count as skipped. */
  readonly audited: (row: AuditRow) => void
}

const moved = engineChannel('position:moved')

/** Runs seeks, skips and resets. */
export class PositionOperations {
  readonly #deps: PositionOperationsDeps

  constructor(deps: PositionOperationsDeps) {
    this.#deps = deps
  }

  /** @throws ArgumentError, PositionRefusedError, PositionUnknownError, PartialFailureError */
  async move(
    binding: AdministeredBinding,
    command: PositionCommand,
    operator: OperatorIdentity,
  ): Promise<readonly PositionReport[]> {
    const { admin } = binding.client
    const place = placeOf(binding, command)
    const partitions = await partitionsOf(admin, place.topic)
    const asked = await resolveMoves(admin, place.topic, partitions, command, binding.resolved.maxAhead)
    const read: Reading['read'] = (some) => this.#readIdle(binding, place, some)
    const plan: Reading['plan'] = (some, idle) => this.#plan(binding, place, some, idle, operator)
    const { transactional } = binding.resolved
    let plans: readonly Planned[]
    if (transactional === false) {
      plans = plan(asked, await read(asked))
      await this.#write(binding.label, admin, place, plans)
    } else plans = await moveInTransactions({ binding, place, transactional, read, plan }, asked)
    for (const { report } of plans) this.#announce(binding.label, command, report, operator)
    return plans.map(({ report }) => report)
  }

  async #readIdle(
    { label, client: { admin }, resolved }: AdministeredBinding,
    { topic, groupId, tier }: ContainerPlace,
    asked: readonly RequestedMove[],
  ): Promise<ReadonlyMap<number, IdlePartition>> {
    const partitions = asked.map(({ partition }) => ({ topic, partition }))
    const offsets = requireAllDone(`Reading the offsets of ${groupId}`, await admin.groupOffsets(groupId, partitions))
    const starts = await offsetsAt(admin, partitions, 'EARLIEST')
    const { waitingTopic, startFrom } = resolved
    const beginsFirst = tier > 0 || startFrom === 'EARLIEST'
    const waitingEnds =
      waitingTopic === undefined
        ? undefined
        : await offsetsAt(admin, await partitionsOf(admin, waitingTopic, true), 'LATEST')
    return new Map(
      offsets.map(({ partition, committed, metadata, end }) => {
        const logStart = starts.get(partition) ?? 0n
        if (committed !== null)
          this.#deps.audited(auditRow({ binding: label, topic, groupId }, partition, { committed, metadata }, logStart))
        const ledgers = decodeCommitMetadata({ offset: committed, metadata })
        const waitingEnd = waitingEnds === undefined ? {} : { waitingEnd: waitingEnds.get(partition) ?? 0n }
        const beginsAt = beginsFirst ? logStart : undefined
        return [partition, { partition, committed, ledgers, logStart, logEnd: end, beginsAt, ...waitingEnd }]
      }),
    )
  }

  #plan(
    { label }: AdministeredBinding,
    { topic }: ContainerPlace,
    asked: readonly RequestedMove[],
    idle: ReadonlyMap<number, IdlePartition>,
    { by }: OperatorIdentity,
  ): readonly Planned[] {
    const refusals: (TopicPartition & { readonly why: string })[] = []
    const plans: Planned[] = []
    const atMs = this.#deps.runtime.clock.now()
    for (const { partition, move } of asked) {
      const at = idle.get(partition) as IdlePartition
      const plan = planPosition(at, move)
      if (plan === undefined) continue
      if ('refusal' in plan) refusals.push({ topic, partition, why: plan.refusal })
      else plans.push(commitOf({ topic, partition }, at, plan, { atMs, by }))
    }
    if (refusals.length > 0) throw new PositionRefusedError(label, refusals)
    return plans
  }

  async #write(label: string, admin: Admin, { groupId }: ContainerPlace, plans: readonly Planned[]): Promise<void> {
    if (plans.length === 0) return
    const offsets = plans.map(({ report: { topic, partition, to }, metadata }) => ({
      topic,
      partition,
      offset: to,
      metadata,
    }))
    const outcomes = await adminResultsOf(admin.alterGroupOffsets(groupId, offsets))
    const unknown = outcomes.filter(isUnknown)
    if (unknown.length > 0) await this.#readBack(label, admin, groupId, plans, unknown)
    requireAllDone(
      `Moving the positions of ${groupId}`,
      outcomes.filter((one) => !isUnknown(one)),
    )
  }

  /** Reads the commits after a lost answer, to learn whether the write happened. */
  async #readBack(
    label: string,
    admin: Admin,
    groupId: string,
    plans: readonly Planned[],
    unknown: readonly TopicPartition[],
  ): Promise<void> {
    const cause = (unknown[0] as { readonly error?: Error }).error
    let known: readonly (TopicPartition & { readonly metadata: string | null })[]
    try {
      known = requireAllDone(`Reading the offsets of ${groupId}`, await admin.groupOffsets(groupId, unknown))
    } catch {
      // The unknown move matters more to the caller than the failed read.
      throw new PositionUnknownError(label, unknown, cause)
    }
    const open = known.filter(({ partition, metadata }) =>
      plans.some((plan) => plan.report.partition === partition && plan.metadata !== metadata),
    )
    if (open.length > 0) throw new PositionUnknownError(label, open, cause)
  }

  #announce(
    binding: string,
    { type }: PositionCommand,
    report: PositionReport,
    { by, reason }: OperatorIdentity,
  ): void {
    const said = { binding, operation: type, ...report, by }
    // JSON has no bigint.
    const { from, to, skipped, repeated } = report
    const digits = { from: from?.toString(), to: `${to}`, skipped: `${skipped}`, repeated: `${repeated}` }
    this.#deps.runtime.logger.warn({ ...said, ...digits, reason }, 'Position moved by an operator')
    if (moved.hasSubscribers) moved.publish(said)
  }
}

function commitOf(
  { topic, partition }: TopicPartition,
  { committed: from, ledgers }: IdlePartition,
  { state, waiting, skipped, repeated }: PlannedPosition,
  who: { readonly atMs: number; readonly by: string },
): Planned {
  const before = 'problem' in ledgers ? undefined : ledgers.source.moved
  const to = state.position
  const note = { times: (before?.times ?? 0) + 1, from, to, ...who }
  return {
    report: { topic, partition, from, to, skipped, repeated },
    note,
    metadata: encodeCommitMetadata({ ...state, moved: note }, waiting),
  }
}

function placeOf({ label, resolved }: AdministeredBinding, command: PositionCommand): ContainerPlace {
  const { tier = 0 } = whichOf(command)
  const places = containerPlacesOf(resolved)
  const place = places.find((one) => one.tier === tier)
  if (place !== undefined) return place
  throw new ArgumentError(`Tier ${tier} out of range [0..${places.length - 1}] of binding '${label}'.`)
}

function isUnknown(one: PartitionResult): boolean {
  return one.outcome === 'FAILED' && one.error.kind === 'UNKNOWN'
}
