import type { Runtime } from '@waybill/core'
import type { DerivedTopicsMode } from '../api/connector.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import type { LossReport } from '../losses/loss-report.ts'
import { findStranded } from '../losses/stranded-tiers.ts'
import { findSharedTopics } from '../replay/shared-topics.ts'
import type { ClusterLink } from '../run/cluster-link.ts'
import type { RegisteredBinding } from '../run/registered-binding.ts'
import { ensureDerivedTopics } from '../topics/derived-topics.ts'
import { assertNone, findTopics } from '../topics/topic-search.ts'
import { checkMarks } from './check-marks.ts'
import { requestForStart, type Starter } from './start-request.ts'

/** The dependencies of the preparation. */
export interface BindingPreparationDeps {
  readonly clusters: ReadonlyMap<string, ClusterLink>
  /** Returns all registered bindings. */
  readonly bindings: () => readonly RegisteredBinding[]
  readonly derivedTopics: DerivedTopicsMode
  readonly losses: LossReport
  readonly runtime: Runtime
}

/** Topics of a binding whose retry and dead letter topics are searched for other groups at a start. */
const mostTopicsSearched = 10

/**
 * Prepares bindings for their start: checks the stores of marks, creates topics, searches former tiers for records, and
 * tiers and dead letters for other groups.
 */
export class BindingPreparation {
  readonly #deps: BindingPreparationDeps

  constructor(deps: BindingPreparationDeps) {
    this.#deps = deps
  }

  /** Prepares a start. An unreachable cluster blocks it here, until the requests reach their deadline. */
  async prepare(bindings: readonly RegisteredBinding[], starter: Starter): Promise<void> {
    // First, so that a refused binding creates no topics.
    const marksChecked = checkMarks(
      bindings.map(({ resolved }) => resolved),
      this.#deps.runtime,
    )
    if (marksChecked !== undefined) await marksChecked
    // Sequentially: each binding is checked against the topics that the previous ones found.
    for (const binding of bindings) await requestForStart(binding.cluster, starter, () => this.#findTopics(binding))
    await this.#ensureTopics(
      bindings.flatMap(({ parts }) => parts),
      (cluster, ensure) => requestForStart(cluster, starter, ensure),
    )
    await Promise.all(
      bindings.flatMap((binding) => [
        this.#reportStranded(binding, binding.parts),
        this.#reportShared(binding, binding.parts),
      ]),
    )
  }

  /**
   * Discovers new topics of a running binding, and creates their derived topics. A topic that violates the options is
   * logged and left out, so that the binding keeps running. Returns the topics that no longer exist.
   */
  async discoverTopics(binding: RegisteredBinding, signal: AbortSignal): Promise<readonly string[]> {
    const { parts, gone, violations } = await this.#search(binding)
    for (const { path, problem } of violations)
      this.#deps.runtime.logger.error({ binding: binding.label, option: path }, `${path} ${problem}`)
    if (parts.length === 0 || signal.aborted) return gone
    await this.#ensureTopics(parts)
    await Promise.all([this.#reportStranded(binding, parts), this.#reportShared(binding, parts)])
    binding.found(parts)
    return gone
  }

  async #findTopics(binding: RegisteredBinding): Promise<void> {
    const found = await this.#search(binding)
    assertNone(binding.resolved, found)
    binding.forget(found.gone)
    binding.found(found.parts)
  }

  async #search(binding: RegisteredBinding): ReturnType<typeof findTopics> {
    const { clusters, bindings } = this.#deps
    const admin = clusters.get(binding.cluster)?.client.admin
    if (admin === undefined) return { parts: [], gone: [], violations: [] }
    const others = bindings().filter((one) => one !== binding)
    return findTopics(
      binding,
      others.flatMap(({ parts }) => parts),
      admin,
    )
  }

  async #ensureTopics(
    parts: readonly ResolvedBinding[],
    request = (_cluster: string, ensure: () => Promise<void>) => ensure(),
  ): Promise<void> {
    const { clusters, derivedTopics, runtime } = this.#deps
    await Promise.all(
      [...clusters.values()].map(async ({ name, client }) => {
        const own = parts.filter(({ cluster }) => cluster === name)
        if (own.length === 0) return
        await request(name, () => ensureDerivedTopics(client.admin, own, derivedTopics, runtime))
      }),
    )
  }

  /** Warns of other groups in retry and dead letter topics. Never rejects: a start does not depend on it. */
  async #reportShared(binding: RegisteredBinding, parts: readonly ResolvedBinding[]): Promise<void> {
    const { clusters, derivedTopics, runtime } = this.#deps
    const client = clusters.get(binding.cluster)?.client
    if (client === undefined || derivedTopics === 'ASSUME') return
    const { logger } = runtime
    try {
      for (const part of parts.slice(0, mostTopicsSearched)) {
        for (const { topic, groups } of await findSharedTopics(part, { client, runtime })) {
          const fields = { binding: binding.label, topic, groups: groups.join(', ') }
          logger.warn(fields, 'Topic shared with other groups; retryTopicNaming PER_GROUP gives each group its own')
        }
      }
    } catch (err) {
      logger.warn({ err, binding: binding.label }, 'Shared topic check failed')
    }
  }

  /** Reports records in former tiers. Never rejects: a start does not depend on it. */
  async #reportStranded(binding: RegisteredBinding, parts: readonly ResolvedBinding[]): Promise<void> {
    const { clusters, derivedTopics, losses, runtime } = this.#deps
    const admin = clusters.get(binding.cluster)?.client.admin
    if (admin === undefined || derivedTopics === 'ASSUME') return
    try {
      for (const part of parts)
        for (const stranded of await findStranded(part, admin)) losses.stranded(binding.label, stranded)
    } catch (err) {
      runtime.logger.warn({ err, binding: binding.label }, 'Former tiers not checked for records; the binding starts')
    }
  }
}
