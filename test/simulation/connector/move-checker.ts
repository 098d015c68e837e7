/**
 * Checks every position that an operator moves, at the moment when the cluster accepts it.
 *
 * I2: a command asked for it, and it goes to the requested offset. I20: the counts behind it equal those before it plus
 * the skipped records, or start anew. I21: the audit log already contains the command.
 */

import { PositionRefusedError, type PositionReport } from '@waybill/connector'
import { type PositionCommand } from '@waybill/connector/internal'
import type { AuditEntry } from '@waybill/core'
import type { AcceptedCommit } from '@waybill/sim/internal'
import { type CommittedLedger, type CommittedState, isSettledIn } from './committed-state.ts'
import type { Evidence } from './evidence.ts'
import type { Ground } from './ground.ts'
import { PassedOver } from './passed-over.ts'
import type { Place } from './places.ts'
import type { TopicLog } from './topic-log.ts'

/** A command without a response yet. */
export interface OpenMove {
  readonly process: string
  readonly place: Place
  readonly command: PositionCommand
  /** Start and end of each log when it was issued. */
  readonly bounds: ReadonlyMap<number, { readonly start: bigint; readonly end: bigint }>
  isAudited: boolean
  /** The offsets that the cluster has accepted for it, by partition. */
  readonly accepted: Map<number, bigint>
}

/** A move as the cluster accepts it. */
export interface AcceptedMove {
  readonly commit: AcceptedCommit
  readonly name: string
  readonly place: Place
  readonly log: TopicLog
  readonly before: CommittedState | undefined
  /** True when a commit exists, whether or not it is readable. */
  readonly isCommitted: boolean
  readonly after: CommittedState
}

const zeroes = { ok: 0, retried: 0, dead: 0, skipped: 0, holes: 0 } as const
const counted = ['ok', 'retried', 'dead', 'skipped', 'holes'] as const

/** See the file's comment. */
export class MoveChecker {
  readonly passedOver: PassedOver
  readonly #ground: Ground
  readonly #open = new Set<OpenMove>()
  /** Where counting of waiting topics begins, by group and source partition. */
  readonly #waitingSince = new Map<string, bigint>()

  constructor(ground: Ground & { readonly evidence: Evidence }) {
    this.#ground = ground
    this.passedOver = new PassedOver(() => ground.evidence)
  }

  /** Records that an operator issues a command. */
  begin(process: string, place: Place, command: PositionCommand): OpenMove {
    const bounds = new Map(
      [...this.#ground.logs.values()]
        .filter(({ topic }) => topic === place.topic)
        .map((log) => [log.partition, { start: this.#ground.losses.startOf(log.topic, log.partition), end: log.end }]),
    )
    const open = { process, place, command, bounds, isAudited: false, accepted: new Map<number, bigint>() }
    this.#open.add(open)
    return open
  }

  /** Returns true when a process runs a command about this topic. */
  isUnderWay(process: string, topic: string): boolean {
    return [...this.#open].some((open) => open.process === process && open.place.topic === topic)
  }

  /**
   * Records that it completed, or was refused. That of a killed process is never ended: the cluster may still accept what the
   * process has sent, and only that.
   */
  end(open: OpenMove): void {
    this.#open.delete(open)
  }

  /** Checks the reported positions against the accepted ones. */
  answered({ place, accepted }: OpenMove, reports: readonly PositionReport[]): void {
    for (const { partition, to } of reports)
      if (accepted.get(partition) !== to)
        this.#ground.court.violate('I2', `${place.topic}-${partition} is reported as moved to ${to}, and is not`)
  }

  /** Checks that a refused command has moved nothing beyond what its error says. */
  refused({ place, accepted }: OpenMove, error: unknown): void {
    const { court } = this.#ground
    if (error instanceof PositionRefusedError && accepted.size > 0)
      court.violate('I2', `${place.topic} is moved, and the error says that nothing was`)
    if (String(error).includes('has members')) court.reach('move: it is refused because the group has members')
  }

  /** Records an audit log entry of a process. */
  audited(process: string, { operation, outcome, target }: AuditEntry): void {
    for (const open of this.#open)
      if (open.process === process && open.place.binding.name === target)
        if (open.command.type === operation && outcome === 'ASKED') open.isAudited = true
  }

  /** Returns where counting of the waiting topic begins. */
  waitingSince(name: string): bigint {
    return this.#waitingSince.get(name) ?? 0n
  }

  accepted(move: AcceptedMove): void {
    const { commit, name, place, log, after } = move
    const { court } = this.#ground
    const open = [...this.#open].find((one) => one.process === commit.client && one.place === place)
    if (open === undefined) return court.violate('I2', `${commit.client} moves ${name} without a command`)
    if (!open.isAudited) court.violate('I21', `${commit.client} moves ${name} without an entry in the audit log`)
    const { source } = after
    open.accepted.set(log.partition, source.position)
    const from = beginningOf(move, this.#ground.losses.startOf(log.topic, log.partition))
    const to = this.#targetOf(open, log, source)
    if (to === undefined)
      return court.violate('I2', `${name} is moved to ${source.position}, which no command asked for`)
    const { type } = open.command
    const isAnew = type === 'RESET' || from === undefined || (type === 'SEEK' && to < from.position)
    this.#compare(name, source, isAnew ? anewAt(to) : forwardTo(from, open.command, to))
    this.#checkWaiting(move, isAnew)
    this.#mark(move, open, { start: from ?? anewAt(0n), to, isAnew })
  }

  /** Returns the requested position of the partition; undefined when the commit does not match it. */
  #targetOf({ command, bounds }: OpenMove, log: TopicLog, { position }: CommittedLedger): bigint | undefined {
    if (command.type === 'SKIP') return position
    const { to } = command.type === 'SEEK' ? command.seek : command.reset
    const { start = 0n, end = 0n } = bounds.get(log.partition) ?? {}
    const isAtEnd = (at: bigint): boolean => at >= end && at <= log.end
    if (to === 'LATEST') return isAtEnd(position) ? position : undefined
    if (to === 'EARLIEST') {
      const first = this.#ground.losses.startOf(log.topic, log.partition)
      return position < start ? undefined : position < first ? position : first
    }
    if ('offset' in to) return to.offset
    const firstFrom = (from: bigint): bigint | undefined =>
      log.records.find(({ offset, timestamp }) => offset >= from && timestamp >= to.timestampMs)?.offset
    const first = firstFrom(start)
    if (first === undefined) return isAtEnd(position) ? position : undefined
    // Retention may delete it while the command runs: what is left begins behind it then.
    const left = firstFrom(this.#ground.losses.startOf(log.topic, log.partition)) ?? log.end
    return position >= first && position <= left ? position : first
  }

  #compare(name: string, is: CommittedLedger, expected: CommittedLedger): void {
    const { court } = this.#ground
    const differs = counted.find((count) => is[count] !== expected[count])
    if (differs !== undefined)
      court.violate('I20', `${name} is moved with ${is[differs]} ${differs}, and ${expected[differs]} are right`)
    if (is.since !== expected.since || is.position !== expected.position)
      court.violate(
        'I20',
        `${name} is moved to ${is.position}, counted from ${is.since}; right is ${expected.position} from ${expected.since}`,
      )
    const [above, right] = [[...is.above].join(), [...expected.above].join()]
    if (above !== right) court.violate('I20', `${name} is moved with [${above}] settled above it; right is [${right}]`)
  }

  #checkWaiting({ name, before, after }: AcceptedMove, isAnew: boolean): void {
    const { court } = this.#ground
    if (before?.waiting === undefined || after.waiting === undefined) return
    if (before.waiting.waitingNow > 0) court.violate('I7', `${name} is moved while ${before.waiting.waitingNow} wait`)
    const since = isAnew ? before.waiting.position : before.waiting.since
    const isRight = after.waiting.position === before.waiting.position && after.waiting.since === since
    if (!isRight) court.violate('I20', `${name} is moved, and its waiting topic counts from ${after.waiting.since}`)
    this.#waitingSince.set(name, since)
  }

  #mark(
    { place, log }: AcceptedMove,
    { command }: OpenMove,
    { start, to, isAnew }: { readonly start: CommittedLedger; readonly to: bigint; readonly isAnew: boolean },
  ): void {
    const { court } = this.#ground
    const isPassed =
      command.type === 'SKIP'
        ? (offset: bigint) => command.skip.offsets.includes(offset)
        : (offset: bigint) => offset < to && !isSettledIn(start, offset)
    const passed = this.passedOver.pass(place, log, isPassed)
    if (command.type === 'SKIP') court.reach('move: single records are skipped')
    else if (passed > 0) court.reach('move: a position goes forward over records')
    if (isAnew) this.passedOver.repeat(place, log, to)
    if (isAnew && to < start.position) court.reach('move: a position goes back, and records are due again')
    if (place.kind === 'TIER') court.reach('move: of a tier')
    if (command.type === 'RESET') court.reach('move: counting begins anew')
    const target = command.type === 'SEEK' ? command.seek.to : command.type === 'RESET' ? command.reset.to : undefined
    if (typeof target === 'object' && 'timestampMs' in target) court.reach('move: to a time')
  }
}

/** Returns where the group was, or would begin; undefined when that depends on timing, or cannot be read. */
function beginningOf({ before, isCommitted, place }: AcceptedMove, logStart: bigint): CommittedLedger | undefined {
  if (before !== undefined) return before.source
  const beginsFirst = place.kind === 'TIER' || place.binding.options.startFrom === 'EARLIEST'
  return !isCommitted && beginsFirst ? anewAt(logStart) : undefined
}

function anewAt(position: bigint): CommittedLedger {
  return { ...zeroes, since: position, position, above: new Set() }
}

/** Skips records in between that have no outcome; settled ones behind it are not read again. */
function forwardTo(from: CommittedLedger, command: PositionCommand, to: bigint): CommittedLedger {
  const settled = new Set(from.above)
  let skipped = 0
  const skip = (offset: bigint): void => {
    if (offset >= from.position && !settled.has(offset)) skipped++
    settled.add(offset)
  }
  if (command.type === 'SKIP') for (const offset of command.skip.offsets) skip(offset)
  else for (let offset = from.position; offset < to; offset++) skip(offset)
  let { position } = from
  while (settled.has(position)) position++
  const above = new Set(
    [...settled].filter((offset) => offset > position).toSorted((one, other) => Number(one - other)),
  )
  return { ...from, position, skipped: from.skipped + skipped, above }
}
