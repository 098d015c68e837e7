import type { Runtime } from '@waybill/core'
import type { KafkaClient } from '@waybill/kafka'
import type { DeadLetterAdmin, ReplayOptions, ReplayReport, ReplaySelection } from '../api/dead-letter-admin.ts'
import { jsonSafe } from '../api/json-safe.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { DeadLetterDesk } from './dead-letter-desk.ts'
import { addPurges, addReports, addStats, noReport } from './merge-reports.ts'
import { ReplayInterruptedError } from './replay-errors.ts'
import { type ReplayRoute, routeOfRelease, routeTo, routeToTier } from './replay-plan.ts'

/** A registered binding, running or not. */
export interface AdministeredDeadLetters {
  /** The binding, once for each topic it reads. */
  readonly parts: readonly ResolvedBinding[]
  readonly client: KafkaClient
}

/** The dependencies of {@link createDeadLetterAdmin}. */
export interface DeadLetterAdminDeps {
  /** @throws BindingNotFoundError */
  readonly find: (name: string) => AdministeredDeadLetters
  readonly runtime: Runtime
}

type Selected = ReplaySelection & Omit<ReplayOptions, 'target'>

/**
 * Creates the operator's dead letter functions. For a binding that reads several topics, a replay processes their dead
 * letter topics one after the other. Arguments must already be validated by the command rules.
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
    const routed = desksOf(name).map(({ part, desk }) => ({ desk, route: routeOf(part) }))
    let sum = noReport
    for (const { desk, route } of routed) {
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
      const purges = await Promise.all(desksOf(name).map(({ desk }) => desk.purge(olderThanMs)))
      return purges.reduce(addPurges, jsonSafe({ purged: 0n, notReplayed: 0n }))
    },
    async dltStats(name, _, options) {
      const stats = await Promise.all(desksOf(name).map(({ desk }) => desk.stats(options)))
      return stats.reduce(addStats)
    },
    async *deadLetters(name, _, options) {
      for (const { desk } of desksOf(name)) yield* desk.list(options)
    },
  }
}
