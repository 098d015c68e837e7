import { ArgumentError, type Runtime } from '@waybill/core'
import type { KafkaClient } from '../../client/kafka-client.ts'
import type { DeadLetterAdmin, ReplayOptions, ReplayReport, ReplaySelection } from '../admin/dead-letter-admin.ts'
import type { ResolvedBinding } from '../option/resolved-binding.ts'
import { DeadLetterDesk } from './dead-letter-desk.ts'
import { addPurges, addReports, addStats, noReport } from './merge-reports.ts'
import { ReplayInterruptedError } from './replay-errors.ts'
import { type ReplayRoute, routeOfRelease, routeTo, routeToTier } from './replay-plan.ts'

/** A registered binding, whether it runs or not. */
export interface AdministeredDeadLetters {
  /** The same binding for each topic that it reads. */
  readonly parts: readonly ResolvedBinding[]
  readonly client: KafkaClient
}

/** What it stands on. */
export interface DeadLetterAdminDeps {
  /** @throws BindingNotFoundError */
  readonly find: (name: string) => AdministeredDeadLetters
  readonly runtime: Runtime
}

type Selected = ReplaySelection & Omit<ReplayOptions, 'target'>

/**
 * Makes the operator's side of dead letters. A binding that reads several topics has the dead letters of each: what is
 * asked for is done to one topic after the other.
 */
export function createDeadLetterAdmin({ find, runtime }: DeadLetterAdminDeps): DeadLetterAdmin {
  const desksOf = (name: string): { readonly part: ResolvedBinding; readonly desk: DeadLetterDesk }[] => {
    const { parts, client } = find(name)
    return parts.map((part) => ({ part, desk: new DeadLetterDesk({ binding: part, client, runtime }) }))
  }

  const replay = async (
    name: string,
    which: Selected,
    routeOf: (part: ResolvedBinding) => ReplayRoute,
  ): Promise<ReplayReport> => {
    checkSelection(which)
    const ways = desksOf(name).map(({ part, desk }) => ({ desk, route: routeOf(part) }))
    let sum = noReport
    for (const { desk, route } of ways) {
      const { count } = which
      if (count !== undefined && sum.replayed >= count) break
      const before = sum
      const rest = {
        ...which,
        ...(count === undefined ? {} : { count: count - before.replayed }),
        onProgress: (report: ReplayReport) => which.onProgress?.(addReports(before, report)),
      }
      try {
        sum = addReports(before, await desk.replay(rest, route))
      } catch (error) {
        if (!(error instanceof ReplayInterruptedError)) throw error
        throw new ReplayInterruptedError(error.topic, addReports(before, error.report), error.cause)
      }
    }
    return sum
  }

  return {
    replayDlt: async (name, which) =>
      replay(name, which, (part) => routeTo(part, which.target ?? part.deadLetter.replay.target)),
    replayToTier: async (name, tier, which) => replay(name, which, (part) => routeToTier(part, tier)),
    releaseDlt: async (name, which) => replay(name, which, (part) => routeOfRelease(part)),
    async purgeDlt(name, olderThanMs) {
      checkTime('olderThanMs', olderThanMs)
      const purges = await Promise.all(desksOf(name).map(({ desk }) => desk.purge(olderThanMs)))
      return purges.reduce(addPurges, { purged: 0n, notReplayed: 0n })
    },
    async dltStats(name, options) {
      const stats = await Promise.all(desksOf(name).map(({ desk }) => desk.stats(options)))
      return stats.reduce(addStats)
    },
    async *deadLetters(name, options) {
      for (const { desk } of desksOf(name)) yield* desk.list(options)
    },
  }
}

/** @throws ArgumentError */
function checkSelection(which: Selected): void {
  const { count, maxReplays } = which
  const isWindow = 'from' in which
  if (!isWindow || count !== undefined) checkCount('count', count)
  if (maxReplays !== undefined) checkCount('maxReplays', maxReplays)
  if (!isWindow) return
  checkTime('from', which.from)
  checkTime('to', which.to)
  if (which.from >= which.to)
    throw new ArgumentError(`A window must begin before it ends: from ${which.from} to ${which.to}.`)
}

function checkCount(name: string, value: number | undefined): void {
  if (!Number.isSafeInteger(value) || (value as number) < 1)
    throw new ArgumentError(`${name} must be a whole number from 1 on, not ${value}.`)
}

function checkTime(name: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0)
    throw new ArgumentError(`${name} must be a time in epoch milliseconds, not ${value}.`)
}
