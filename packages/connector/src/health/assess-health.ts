/**
 * What is wrong, in words for somebody who was woken by it: which binding and partition, what, since when, what to do.
 * Pure: everything known goes in, findings come out.
 *
 * | status | when |
 * |---|---|
 * | DOWN | the connector could not be started; a group member failed, stopped by itself or finds no place; a topic is gone; a partition is owned and not read; retry or dead letter records cannot be written, or a transaction not committed; a partition stands still; records were lost and nobody has acknowledged it |
 * | DEGRADED | a breaker is not closed; something is paused; a record waits for an operator; the cluster does not answer; a start takes long; what was committed cannot be accounted for |
 * | UP | none of these; a binding that was told to stop is only noted |
 */

import type { CircuitState } from '@waybill/core/internal'
import type { ContainerStatus, MemberStatus, PartitionStatus } from '../api/binding-view.ts'
import type { HealthStatus, RecordLoss } from '../api/connector-report.ts'
import type { PauseReason } from '../api/pause-reason.ts'
import type { Commanded } from '../binding/state-machine.ts'
import type { Stall } from './stall-watch.ts'
import type { LastingTrouble } from './trouble-watch.ts'

/** One thing worth saying. */
export interface Finding {
  /** The same as long as it is the same thing: what `since` is counted by. */
  readonly key: string
  /** UP: a remark that is no reason for alarm. */
  readonly status: HealthStatus
  readonly what: string
  readonly hint: string
  /** Epoch milliseconds, where it is known better than by looking. */
  readonly sinceMs?: number
}

/** A binding as health sees it. */
export interface BindingSight {
  readonly name: string
  readonly commanded: Commanded
  /** Since when its start is under way, monotonic; undefined while none is. */
  readonly startingSinceMs: number | undefined
  readonly pausedBy: ReadonlySet<PauseReason>
  readonly breaker: CircuitState
  readonly containers: readonly ContainerStatus[]
  readonly losses: readonly RecordLoss[]
  readonly stalls: readonly Stall[]
  readonly troubles: readonly LastingTrouble[]
}

/** A cluster as health sees it. */
export interface ClusterSight {
  readonly name: string
  /** Why retry and dead letter records cannot be written; undefined when they can. */
  readonly publishTrouble: string | undefined
  /** Why it does not answer; undefined when it does. */
  readonly silence: string | undefined
}

/** Everything health depends on, at one moment. */
export interface HealthSnapshot {
  readonly nowMs: number
  readonly monotonicMs: number
  readonly bindings: readonly BindingSight[]
  readonly clusters: readonly ClusterSight[]
  /** Losses that made room for newer ones before anybody acknowledged them. */
  readonly forgottenLosses: number
  /** Why the connector could not be started; undefined unless that is so. */
  readonly startFailure: string | undefined
}

/** Everything worth saying about a snapshot, the worst first. */
export function assess(snapshot: HealthSnapshot): readonly Finding[] {
  const findings = [
    ...startFailureFindings(snapshot),
    ...forgottenFindings(snapshot),
    ...snapshot.clusters.flatMap(clusterFindings),
    ...snapshot.bindings.flatMap((binding) => bindingFindings(binding, snapshot)),
  ]
  return findings.toSorted((one, other) => severity[other.status] - severity[one.status])
}

/** The worst status among findings. */
export function statusOf(findings: readonly Finding[]): HealthStatus {
  return findings.reduce<HealthStatus>(
    (worst, { status }) => (severity[status] > severity[worst] ? status : worst),
    'UP',
  )
}

/** What `eventbus.health` shows. */
export const severity: Readonly<Record<HealthStatus, number>> = { UP: 0, DEGRADED: 1, DOWN: 2 }

function startFailureFindings({ startFailure }: HealthSnapshot): readonly Finding[] {
  if (startFailure === undefined) return []
  return [
    {
      key: 'start failed',
      status: 'DOWN',
      what: `The connector could not be started: ${startFailure.replace(/\s*\n\s*/g, ' ')}`,
      hint: 'Nothing is read. Mend the cause, then start the process again: a connector that failed starts no second time.',
    },
  ]
}

function forgottenFindings({ forgottenLosses }: HealthSnapshot): readonly Finding[] {
  if (forgottenLosses === 0) return []
  return [
    {
      key: 'losses forgotten',
      status: 'DOWN',
      what: `${forgottenLosses} older losses are not listed here any more: there were too many.`,
      hint: 'The log has them all. Acknowledge the losses of every binding once they are read.',
    },
  ]
}

function clusterFindings({ name, publishTrouble, silence }: ClusterSight): readonly Finding[] {
  const findings: Finding[] = []
  if (publishTrouble !== undefined)
    findings.push({
      key: `cluster ${name} publish`,
      status: 'DOWN',
      what: `Cluster ${name}: retry and dead letter records cannot be written: ${publishTrouble}`,
      hint: 'Their originals stay unsettled and are not lost. Check these topics, their rights and their replicas.',
    })
  if (silence !== undefined)
    findings.push({
      key: `cluster ${name} silent`,
      status: 'DEGRADED',
      what: `Cluster ${name} does not answer: ${silence}`,
      hint: 'Lag is unknown meanwhile. Check the brokers and the way to them.',
    })
  return findings
}

function bindingFindings(binding: BindingSight, now: HealthSnapshot): readonly Finding[] {
  const { name, commanded } = binding
  const kept = binding.losses.map(lossFinding)
  if (binding.startingSinceMs !== undefined) return [...kept, startFinding(name, binding.startingSinceMs, now)]
  if (commanded !== 'RUNNING')
    return [...kept, remark(`${name} ${commanded}`, `Binding ${name} is ${commanded}, as it was told.`)]
  return [
    ...kept,
    ...binding.containers.flatMap((container) => containerFindings(name, container)),
    ...binding.troubles.map((trouble) => troubleFinding(trouble, now)),
    ...binding.stalls.map((stall) => stallFinding(stall, now)),
    ...pauseFindings(binding),
    ...breakerFindings(binding),
  ]
}

/** A group is joined within some seconds; what takes longer waits for something. */
const startPatienceMs = 10_000

function startFinding(name: string, sinceMs: number, now: HealthSnapshot): Finding {
  const what = `Binding ${name} is being started.`
  if (now.monotonicMs - sinceMs < startPatienceMs) return remark(`${name} starting`, what)
  return {
    key: `${name} starting`,
    status: 'DEGRADED',
    what,
    hint: 'Nothing of it is read yet. Check the brokers of its cluster and the way to them.',
    sinceMs: epochOf(sinceMs, now),
  }
}

function containerFindings(binding: string, container: ContainerStatus): readonly Finding[] {
  const { place, pausedBy, members } = container
  // Said once for the binding.
  const isHeld = pausedBy.includes('EXHAUSTED')
  const standing = members
    .flatMap(({ partitions }) => partitions)
    .flatMap((partition) => partitionFindings(binding, partition, isHeld))
  return [...members.flatMap((member) => memberFindings(binding, place.name, member)), ...standing]
}

function memberFindings(binding: string, container: string, member: MemberStatus): readonly Finding[] {
  const { index, state, failure } = member
  if (failure === undefined && state !== 'STOPPED' && state !== 'FAILED') return []
  const why = failure === undefined ? `is ${state} although nobody stopped it` : `failed: ${failure}`
  return [
    {
      key: `${binding} ${container} member ${index}`,
      status: 'DOWN',
      what: `Binding ${binding}: member ${index} of ${container} ${why}`,
      hint: 'What it had not settled is delivered again. It is tried again unless another took its place; mend the cause.',
    },
  ]
}

function partitionFindings(binding: string, status: PartitionStatus, isHeld: boolean): readonly Finding[] {
  const { topic, partition, watermark, pausedBy, waiting, trouble } = status
  const place = `Binding ${binding}, ${topic}-${partition}`
  const key = `${binding} ${topic} ${partition}`
  const findings: Finding[] = []
  if (pausedBy.includes('EXHAUSTED') && !isHeld)
    findings.push({
      key: `${key} exhausted`,
      status: 'DEGRADED',
      ...(trouble === undefined || pausedBy.includes('DEAD_LETTER_FAILURE')
        ? {
            what: `${place}: the record at offset ${watermark} failed for good and waits for an operator.`,
            hint: 'Mend what its handler needs, then resume the binding: the record is tried again.',
          }
        : { what: `${place} does not run: ${trouble}`, hint: 'Other partitions go on.' }),
    })
  if (pausedBy.includes('WAITING_FULL'))
    findings.push({
      key: `${key} waiting full`,
      status: 'DEGRADED',
      what: `${place}: ${waiting} records wait behind failed ones of their keys, as many as may.`,
      hint: 'Nothing is dropped. Mend what the failing records need, or raise maxWaitingRecords.',
    })
  if (pausedBy.includes('DEAD_LETTER_FAILURE'))
    findings.push({
      key: `${key} publish`,
      status: 'DOWN',
      // Whoever could not write says what it was: a retry or dead letter record, or a transaction.
      what: `${place}: ${trouble ?? 'what has to be written is not confirmed.'}`,
      hint: 'Nothing is lost: it is tried again, and no handler of this partition starts before it is written.',
    })
  return findings
}

function lossFinding(loss: RecordLoss): Finding {
  const { binding, topic, partition, kind, what, atMs } = loss
  return {
    key: `${binding} ${topic} ${partition} ${kind} ${what}`,
    status: kind === 'LOST' ? 'DOWN' : 'DEGRADED',
    what: `Binding ${binding}, ${topic}-${partition}: ${what}`,
    hint: 'Find out what is missing and bring it back from its source, then acknowledge the loss.',
    sinceMs: atMs,
  }
}

function troubleFinding({ key, what, hint, sinceMs }: LastingTrouble, now: HealthSnapshot): Finding {
  return { key, status: 'DOWN', what, hint, sinceMs: epochOf(sinceMs, now) }
}

function epochOf(sinceMs: number, { nowMs, monotonicMs }: HealthSnapshot): number {
  return nowMs - Math.round(monotonicMs - sinceMs)
}

function stallFinding(stall: Stall, now: HealthSnapshot): Finding {
  const { binding, topic, partition, watermark, cause, sinceMs } = stall
  const isLong = cause === 'LONG_CALL'
  return {
    key: `${binding} ${topic} ${partition} stalled`,
    status: 'DOWN',
    what: isLong
      ? `Binding ${binding}, ${topic}-${partition}: a handler runs without end; the lowest unsettled offset is ${watermark}.`
      : `Binding ${binding}, ${topic}-${partition}: no progress at offset ${watermark} although records wait.`,
    hint: isLong
      ? 'Look at what the handler waits for, and set handlerTimeoutMs. A restart delivers its record again.'
      : 'Look at that record and at what its handler needs; a transaction left open by a producer looks the same.',
    sinceMs: epochOf(sinceMs, now),
  }
}

function pauseFindings({ name, pausedBy }: BindingSight): readonly Finding[] {
  const findings: Finding[] = []
  if (pausedBy.has('OPERATOR'))
    findings.push({
      key: `${name} paused`,
      status: 'DEGRADED',
      what: `Binding ${name} is paused by an operator.`,
      hint: 'Resume it when it may go on.',
    })
  if (pausedBy.has('EXHAUSTED'))
    findings.push({
      key: `${name} exhausted`,
      status: 'DEGRADED',
      what: `Binding ${name} is paused: the classifier said PAUSE_CONTAINER for a record that failed.`,
      hint: 'Mend what its handler needs, then resume the binding: the record is tried again.',
    })
  return findings
}

function breakerFindings({ name, breaker }: BindingSight): readonly Finding[] {
  if (breaker === 'CLOSED') return []
  const isOpen = breaker === 'OPEN'
  return [
    {
      key: `${name} breaker ${breaker}`,
      status: 'DEGRADED',
      what: `Binding ${name}: its circuit breaker is ${isOpen ? 'open' : 'half-open and probes'}.`,
      hint: 'Look at what the handler depends on. The breaker closes by itself once calls succeed; nothing is lost.',
    },
  ]
}

function remark(key: string, what: string): Finding {
  return { key, status: 'UP', what, hint: '' }
}
