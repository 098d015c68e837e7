/**
 * Builds another table of a projection beside the live one, and switches to it:
 *
 *     CATCHING_UP ─every partition at its end─▶ VERIFYING ─no unexpected difference─▶ READY ─switchNow─▶ LIVE
 *          │                                        │                                   │
 *          └──────────── cancel, or an error that a retry cannot fix ──────────────────┘──▶ CANCELLED, FAILED
 *
 * The state, the positions and the rows are in the database: any process continues after a kill, and several share the
 * work. Errors of the database and of brokers are retried with a growing wait.
 */

import { createUlidGenerator, type Schemas, StateError } from '@waybill/core'
import type { BuildState, BuildTable, ProjectionBuild } from '@waybill/core/internal'
import type { Projection } from '../definition/projection.ts'
import { RebuildFailedError, RebuildRefusedError } from '../definition/projection-errors.ts'
import { liveOf, nextNumber, projectionFor, tableOf } from '../projector/live-build.ts'
import { addPartitions } from './add-partitions.ts'
import type { BuildStep } from './apply-build.ts'
import { runWorker, type WorkerDeps } from './build-worker.ts'
import { dropRetired } from './drop-retired.ts'
import { applyHistory, historyPosition } from './history-phase.ts'
import { createPace } from './pace.ts'
import type { ResolvedRebuildOptions } from './rebuild-options.ts'
import { left, type RebuildSource } from './rebuild-source.ts'
import { retried } from './retried.ts'
import { type SwitchOutcome, switchBuild } from './switch-build.ts'
import { verificationStep } from './verification-step.ts'
import type { Verification } from './verify-build.ts'

/** The progress of a rebuild. */
export interface RebuildStatus {
  readonly build: number
  readonly state: BuildState
  /** Events that this process has applied. */
  readonly applied: number
  /** Records that are left in the topics. */
  readonly remaining: bigint
  readonly quarantined: number
  /** The last comparison with the live table; undefined before it. */
  readonly verification: Verification | undefined
  /** Why it failed; null otherwise. */
  readonly reason: string | null
}

/** The workers of this process. */
interface WorkerShift {
  readonly ended: Promise<void>
  /** Aborts when they stop: nothing that waits for positions would see them move. */
  readonly over: AbortSignal
  readonly isWorking: () => boolean
}

const active: readonly BuildState[] = ['CATCHING_UP', 'VERIFYING', 'READY']
/** Larger than a live batch: nothing waits for a rebuild. */
const recordsPerBatch = 2_000
const pollMs = 250
const mostSwitches = 40
/** Keys whose gaps a verification looks for in the topics. */
const mostGaps = 1_000

/** The rebuild of one projection, as this process sees it. Its caller asks for permissions and writes the audit log. */
export class TableRebuild {
  readonly #projection: Projection<Schemas, unknown>
  /** All revisions that may be live. */
  readonly #known: readonly [Projection<Schemas, unknown>, ...Projection<Schemas, unknown>[]]
  readonly #options: ResolvedRebuildOptions
  readonly #source: RebuildSource
  readonly #owner: string
  readonly #pace: (events: number) => Promise<void>
  #applied = 0
  /** Calls of `run` whose workers follow the topics. */
  #running = 0
  #gaps = 0
  #verification: Verification | undefined

  constructor(projection: Projection<Schemas, unknown>, options: ResolvedRebuildOptions, source: RebuildSource) {
    this.#projection = projection
    this.#known = [projection, ...(options.previous as unknown as readonly Projection<Schemas, unknown>[])]
    this.#options = options
    this.#source = source
    this.#owner = createUlidGenerator(options.runtime)()
    this.#pace = createPace(options.runtime, options.eventsPerSecond)
  }

  /**
   * Builds, and yields the progress until the build is over; with BY_HAND, until it is READY. Leaving the loop stops this
   * process's part.
   */
  async *run(build: ProjectionBuild, signal: AbortSignal | undefined): AsyncGenerator<RebuildStatus, RebuildStatus> {
    if (build.state === 'LIVE') {
      const status = await this.#status(build.number)
      yield status
      return status
    }
    const table = this.#table(build.number)
    const stopping = new AbortController()
    const stopped = signal === undefined ? stopping.signal : AbortSignal.any([stopping.signal, signal])
    let shift = this.#startShift(table, stopped)
    let before: BuildState | undefined
    try {
      for (;;) {
        if (!shift.isWorking()) await shift.ended
        const status = await this.#retried(stopped, () => this.#step(table, shift.over))
        if (status === undefined) return await this.#status(table.number)
        yield status
        if (status.state === 'FAILED') {
          // The error of a worker of this process says more.
          await shift.ended
          throw new RebuildFailedError(`Projection ${this.#projection.name}: ${status.reason}`, {
            impact: 'The live table was not touched.',
          })
        }
        if (stopped.aborted || this.#isOver(status)) return status
        // Its workers saw the build live: since then it was replaced, and a roll-back builds on it.
        if (!shift.isWorking()) {
          await shift.ended
          shift = this.#startShift(table, stopped)
        }
        // A state that has just begun may be over at once.
        if (status.state === before)
          await Promise.race([this.#options.runtime.timers.sleep(pollMs), shift.ended.catch(() => {})])
        before = status.state
      }
    } finally {
      stopping.abort()
      await shift.ended.catch(() => {})
    }
  }

  /** Starts workers, which stop with the signal, at an error, or once the build is no longer built. */
  #startShift(table: BuildTable, stopped: AbortSignal): WorkerShift {
    const ending = new AbortController()
    this.#running++
    const ended = this.#work(table, stopped, this.#owner).finally(() => {
      this.#running--
      ending.abort()
    })
    // Observed by its caller; a failure between two polls is no unhandled rejection.
    ended.catch(() => {})
    const over = AbortSignal.any([stopped, ending.signal])
    return { ended, over, isWorking: () => !ending.signal.aborted }
  }

  /**
   * Makes the build the live one. One that is far behind is read on first: since it was READY, days may have passed. Returns
   * its number.
   *
   * @throws StateError unless it is READY and catches up
   */
  async switchNow(): Promise<number> {
    const build = await this.#activeBuild()
    const table = this.#table(build.number)
    const stopping = new AbortController()
    let following: Promise<void> | undefined
    let hasFailed = false
    let least: bigint | undefined
    try {
      for (let tries = 1; ; tries++) {
        if (hasFailed) await following
        const outcome = await this.#switch(table)
        if (outcome === 'SWITCHED') return build.number
        if (outcome === 'GAPS') await this.#move(table, 'READY', 'VERIFYING')
        if (outcome === 'GAPS' || tries === mostSwitches) throw this.#tooFarBehind(build.number)
        if (this.#running === 0 && following === undefined) {
          following = this.#work(table, stopping.signal, `${this.#owner}-switch`)
          following.catch(() => {
            hasFailed = true
          })
        }
        const { remaining } = await this.#status(build.number)
        if (least === undefined || remaining < least) [least, tries] = [remaining, 1]
        await this.#options.runtime.timers.sleep(pollMs)
      }
    } finally {
      stopping.abort()
      await following?.catch(() => {})
    }
  }

  #switch(table: BuildTable): Promise<SwitchOutcome> {
    const { store, runtime, maxQuarantined } = this.#options
    const deps = {
      store,
      source: this.#source,
      projection: this.#projection,
      tableOf: (live: ProjectionBuild) => this.#liveTable(live),
      mostBehind: maxQuarantined,
      runtime,
    }
    return switchBuild(deps, table)
  }

  #tooFarBehind(number: number): StateError {
    return new StateError(`Projection ${this.#projection.name}: build ${number} is too far behind to switch`, {
      impact: 'Nothing was changed: the live table is live.',
      hint: 'Run the rebuild until it is READY again, then switch again.',
    })
  }

  /** Lets the newest retired table of this revision catch up. Returns its number. @throws StateError if there is none */
  async rollBack(): Promise<number> {
    const { store } = this.#options
    const { name, revision, fingerprint } = this.#projection
    return store.transaction(async (tx) => {
      const builds = await tx.lock(name, 'EXCLUSIVE')
      this.#refuseOther(builds)
      const former = builds.findLast(
        (one) => one.state === 'RETIRED' && one.revision === revision && one.fingerprint === fingerprint,
      )
      if (former === undefined)
        throw new StateError(`Projection ${name} has no former table of revision ${revision}`, {
          impact: 'Nothing was changed.',
          hint: 'Start a rebuild of that revision instead.',
        })
      await tx.setState(former, 'CATCHING_UP')
      return former.number
    })
  }

  /** Stops the rebuild in all processes, and drops its table. Returns its number. @throws StateError if none is under way */
  async cancel(): Promise<number> {
    const { store } = this.#options
    const build = await this.#activeBuild()
    await store.transaction(async (tx) => {
      const builds = await tx.lock(this.#projection.name, 'EXCLUSIVE')
      const state = builds.find(({ number }) => number === build.number)?.state
      if (state !== undefined && active.includes(state)) await tx.setState(build, 'CANCELLED')
    })
    const after = (await store.builds(this.#projection.name)).find(({ number }) => number === build.number)
    if (after?.state === 'CANCELLED') await store.dropTable(build)
    return build.number
  }

  /** Drops the tables that no state leads back to, and retired ones. Returns their numbers. */
  dropRetired(): Promise<readonly number[]> {
    return dropRetired(this.#options.store, this.#known)
  }

  /**
   * Returns the build of this revision that is under way, or the live one, or creates one.
   *
   * @throws RebuildRefusedError, RevisionMismatchError
   */
  async join(): Promise<ProjectionBuild> {
    const { store, again } = this.#options
    const { name, revision, fingerprint } = this.#projection
    const builds = await store.builds(name)
    const live = liveOf(builds)
    if (live !== undefined) projectionFor(this.#known, live)
    const known = this.#ownIn(builds)
    if (known !== undefined) {
      // A crash may have come before it.
      await store.createTable(this.#table(known.number))
      return known
    }
    if (live?.revision === revision && live.fingerprint === fingerprint && !again) return live
    this.#refuseOther(builds)
    await this.#refuseIncomplete()
    const number = nextNumber(builds)
    await store.transaction(async (tx) => {
      const locked = await tx.lock(name, 'EXCLUSIVE')
      // Another process may have been faster.
      if (nextNumber(locked) !== number) return
      this.#refuseOther(locked)
      await tx.addBuild({ projection: name, number, revision, fingerprint, state: 'CATCHING_UP' })
    })
    return this.join()
  }

  /** @throws RebuildRefusedError if the sources do not reach the first event of every key */
  async #refuseIncomplete(): Promise<void> {
    const { history } = this.#options
    const { name, versions } = this.#projection
    if (history !== undefined && versions === 'POSITION')
      throw new RebuildRefusedError(`Projection ${name} has no versions, so it cannot be rebuilt from a history`, {
        impact: 'Nothing was written.',
        hint: 'Without versions, an event that both the history and a topic have would be applied twice. Leave out `history`.',
      })
    const incomplete = await (history === undefined ? this.#source.incomplete() : history.incomplete?.())
    if (incomplete === undefined) return
    const from = history === undefined ? 'topics' : 'history'
    throw new RebuildRefusedError(`Projection ${name} cannot be rebuilt from its ${from}: ${incomplete}`, {
      impact: 'Nothing was written.',
      hint: 'Pass `history` with all earlier events: kept outbox rows, or an archive.',
    })
  }

  #ownIn(builds: readonly ProjectionBuild[]): ProjectionBuild | undefined {
    const { revision, fingerprint } = this.#projection
    return builds.find(
      (one) => active.includes(one.state) && one.revision === revision && one.fingerprint === fingerprint,
    )
  }

  #refuseOther(builds: readonly ProjectionBuild[]): void {
    const other = builds.find(({ state }) => active.includes(state))
    if (other === undefined) return
    throw new StateError(`Projection ${this.#projection.name}: a rebuild of revision ${other.revision} is under way`, {
      impact: 'Nothing was changed.',
      hint: 'Finish or cancel it first.',
    })
  }

  async #activeBuild(): Promise<ProjectionBuild> {
    const build = this.#ownIn(await this.#options.store.builds(this.#projection.name))
    if (build !== undefined) return build
    throw new StateError(
      `Projection ${this.#projection.name}: no rebuild of revision ${this.#projection.revision} is under way`,
      {
        impact: 'Nothing was changed.',
      },
    )
  }

  /** Applies the history, then the topics, retrying what may pass. @throws RebuildFailedError */
  async #work(table: BuildTable, signal: AbortSignal, owner: string): Promise<void> {
    try {
      await this.#retried(signal, () => this.#prepare(table, signal))
      // One that fails stops the others, and all have stopped when this returns.
      const failing = new AbortController()
      const any = AbortSignal.any([signal, failing.signal])
      const workers = Array.from({ length: this.#options.workers }, (_, index) =>
        this.#retried(any, () => runWorker(this.#workerDeps(table, `${owner}-${index}`), any)).catch(
          (error: unknown) => {
            failing.abort()
            throw error
          },
        ),
      )
      const ends = await Promise.allSettled(workers)
      const failure = ends.find((end) => end.status === 'rejected')
      if (failure !== undefined) throw failure.reason
    } catch (error) {
      if (error instanceof RebuildFailedError) await this.#fail(table, error)
      throw error
    }
  }

  /** Returns undefined if the signal aborted first. */
  #retried<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T | undefined> {
    return retried(this.#options.runtime, this.#projection.name, signal, work)
  }

  /** Adds the partitions of the topics once the history is applied: workers then find them. */
  async #prepare(table: BuildTable, signal: AbortSignal): Promise<void> {
    const { store, history } = this.#options
    if (history !== undefined) await applyHistory(this.#workerDeps(table, this.#owner), history, signal)
    if (signal.aborted) return
    await addPartitions(store, table, this.#source)
  }

  #workerDeps(table: BuildTable, owner: string): WorkerDeps {
    const { store, runtime, eventsPerSecond, workers } = this.#options
    // All of them wait for the same limit: a batch waits for a second at most, and no lease expires meanwhile.
    const mostAtOnce = eventsPerSecond === false ? recordsPerBatch : Math.ceil(eventsPerSecond / workers)
    return {
      store,
      projection: this.#projection,
      table,
      source: this.#source,
      runtime,
      owner,
      hasHistory: this.#options.history !== undefined,
      recordsPerBatch: Math.min(recordsPerBatch, mostAtOnce),
      pace: this.#pace,
      onGaps: (gaps) => this.#countGaps(gaps),
      onApplied: (events) => {
        this.#applied += events
      },
    }
  }

  /** Stops a rebuild whose source is incomplete. Some gaps may be closed later: they are judged when it has caught up. */
  async #countGaps(gaps: BuildStep['quarantined']): Promise<void> {
    const { store, maxQuarantined } = this.#options
    const live = liveOf(await store.builds(this.#projection.name))
    const keys = gaps.map(({ key }) => key)
    const rows = live === undefined ? [] : await store.read(this.#liveTable(live), keys)
    this.#gaps += keys.filter((key) => !rows.some((row) => row.key === key && row.isQuarantined)).length
    if (this.#gaps <= maxQuarantined + mostGaps) return
    const [first] = gaps
    throw new RebuildFailedError(
      `more than ${mostGaps} keys cannot be rebuilt, and are not quarantined in the live table: ` +
        `${JSON.stringify(first?.key)} needs version ${first?.expected}, found ${first?.found} (${first?.reason})`,
      {
        impact: 'The live table was not touched.',
        hint: 'Give the rebuild a source that has every event, correct the fold, or raise maxQuarantined.',
      },
    )
  }

  /** Moves the build to its next state, if it is time. */
  async #step(table: BuildTable, signal: AbortSignal): Promise<RebuildStatus> {
    const status = await this.#status(table.number)
    if (
      status.state === 'CATCHING_UP' &&
      (await this.#isPrepared(table)) &&
      status.remaining <= BigInt(recordsPerBatch)
    )
      await this.#move(table, 'CATCHING_UP', 'VERIFYING')
    else if (status.state === 'VERIFYING') await this.#verify(table, signal)
    else return status
    return this.#status(table.number)
  }

  async #isPrepared(table: BuildTable): Promise<boolean> {
    const positions = await this.#options.store.positions(table)
    return positions.some(({ topic }) => topic !== historyPosition.topic)
  }

  async #verify(table: BuildTable, signal: AbortSignal): Promise<void> {
    const { store, runtime } = this.#options
    const deps = {
      store,
      projection: this.#projection,
      table,
      source: this.#source,
      runtime,
      options: this.#options,
      knownOf: (live: ProjectionBuild) => projectionFor(this.#known, live),
    }
    try {
      const result = await verificationStep(deps, signal)
      if (result === undefined) return
      if (result !== 'NOTHING_TO_COMPARE') this.#verification = result
      await this.#move(table, 'VERIFYING', 'READY')
    } catch (error) {
      if (error instanceof RebuildFailedError) await this.#fail(table, error)
      throw error
    }
  }

  async #move(table: BuildTable, from: BuildState, to: BuildState): Promise<void> {
    await this.#options.store.transaction(async (tx) => {
      const builds = await tx.lock(table.projection, 'EXCLUSIVE')
      if (builds.find(({ number }) => number === table.number)?.state === from) await tx.setState(table, to)
    })
  }

  async #fail(table: BuildTable, error: RebuildFailedError): Promise<void> {
    await this.#options.store.transaction(async (tx) => {
      const builds = await tx.lock(table.projection, 'EXCLUSIVE')
      const state = builds.find(({ number }) => number === table.number)?.state
      if (state !== undefined && active.includes(state)) await tx.setState(table, 'FAILED', error.happened)
    })
    this.#options.runtime.logger.error({ projection: table.projection, error: error.message }, 'Rebuild failed')
  }

  async #status(number: number): Promise<RebuildStatus> {
    const { store } = this.#options
    const build = (await store.builds(this.#projection.name)).find((one) => one.number === number)
    const [positions, partitions] = await Promise.all([
      store.positions({ projection: this.#projection.name, number }),
      this.#source.partitions(),
    ])
    return {
      build: number,
      state: build?.state ?? 'CANCELLED',
      applied: this.#applied,
      remaining: partitions.reduce((sum, one) => sum + left(one, positions), 0n),
      quarantined: await store.countQuarantined({ projection: this.#projection.name, number }),
      verification: this.#verification,
      reason: build?.reason ?? null,
    }
  }

  #isOver({ state }: RebuildStatus): boolean {
    if (state === 'READY') return this.#options.switch === 'BY_HAND'
    return !active.includes(state)
  }

  #table(number: number): BuildTable {
    return tableOf(this.#projection, number)
  }

  /** @throws RevisionMismatchError if its revision is not known, and with it its columns */
  #liveTable(live: ProjectionBuild): BuildTable {
    return projectionFor(this.#known, live).table
  }
}
