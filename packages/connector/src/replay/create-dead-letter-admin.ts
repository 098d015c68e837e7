import type { Runtime } from '@waybill/core'
import type { KafkaClient } from '@waybill/kafka'
import type { DeadLetterAdmin, ReplayOptions, ReplayReport, ReplaySelection } from '../api/dead-letter-admin.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { DeadLetterDesk, type PurgePlan } from './dead-letter-desk.ts'
import { addGroupCounts } from './group-counts.ts'
import { addPurges, addReports, addStats, noPurge, noReport } from './merge-reports.ts'
import { OtherGroupsDeadLettersError } from './purge-errors.ts'
import { ReplayInterruptedError } from './replay-errors.ts'
import { type ReplayRoute, routeOfRelease, routeTo, routeToTier } from './replay-plan.ts'
import { deadLetterAt, openSelectedReplay, purgeRanges, rangesNow, replayPositions } from './selected-dead-letters.ts'

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

interface Desk {
  readonly part: ResolvedBinding
  readonly desk: DeadLetterDesk
}

type Selected = ReplaySelection & Omit<ReplayOptions, 'target'>

/**
 * Creates the operator's dead letter functions. For a binding that reads several topics, a replay processes their dead
 * letter topics one after the other. Arguments must already be validated by the command rules.
 */
export function createDeadLetterAdmin({ find, runtime }: DeadLetterAdminDeps): DeadLetterAdmin {
  const desksOf = (name: string): Desk[] => {
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
    async purgeDlt(name, olderThanMs, _operator, options = {}) {
      const planned = await Promise.all(
        onePerTopic(desksOf(name)).map(async ({ desk }) => ({
          desk,
          plan: await desk.planPurge(olderThanMs, options),
        })),
      )
      const report = planned.map(({ plan }) => plan.report).reduce(addPurges, noPurge)
      if (options.dryRun === true) return report
      // Before the first deletion: a refused purge deletes nothing of any topic.
      if (options.includeOtherGroups !== true) refuseOthers(planned.map(({ plan }) => plan))
      await Promise.all(planned.map(({ desk, plan }) => desk.purge(plan)))
      return report
    },
    deadLetterRanges: async (name, _, { from } = {}) => rangesNow(find(name), from),
    openReplay: async (name, selection, options) => openSelectedReplay(find(name), runtime, selection, options),
    replayDeadLetters: async (name, positions, options) => replayPositions(find(name), runtime, positions, options),
    deadLetter: async (name, position) => deadLetterAt(find(name), position),
    purgeDltRanges: async (name, ranges) => purgeRanges(find(name), ranges),
    async dltStats(name, _, options) {
      const stats = await Promise.all(desksOf(name).map(({ desk }) => desk.stats(options)))
      return stats.reduce(addStats)
    },
    async *deadLetters(name, _, options) {
      for (const { desk } of desksOf(name)) yield* desk.list(options)
    },
  }
}

/** Topics of a binding may share a dead letter topic with an explicit name: its records must not count twice. */
function onePerTopic(desks: readonly Desk[]): readonly Desk[] {
  return [...new Map(desks.map((one) => [one.part.deadLetter.topic, one])).values()]
}

/** @throws OtherGroupsDeadLettersError */
function refuseOthers(plans: readonly PurgePlan[]): void {
  const shared = plans.map(({ topic, groupId, report }) => ({
    topic,
    others: report.byGroup.filter(({ consumerGroup }) => consumerGroup !== undefined && consumerGroup !== groupId),
  }))
  const refused = shared.filter(({ others }) => others.length > 0)
  if (refused.length === 0) return
  const others = addGroupCounts(
    [],
    refused.flatMap((one) => one.others),
  )
  throw new OtherGroupsDeadLettersError(
    refused.map(({ topic }) => topic),
    others,
  )
}
