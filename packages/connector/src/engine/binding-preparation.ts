import type { Runtime } from '@waybill/core'
import type { DerivedTopicsMode } from '../api/connector.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import type { LossReport } from '../losses/loss-report.ts'
import { findStranded } from '../losses/stranded-tiers.ts'
import type { ClusterLink } from '../run/cluster-link.ts'
import type { RegisteredBinding } from '../run/registered-binding.ts'
import { ensureDerivedTopics } from '../topics/derived-topics.ts'
import { assertNone, findTopics } from '../topics/topic-search.ts'
import { checkMarks } from './check-marks.ts'
import { requestForStart, type Starter } from './start-request.ts'

/** What preparing needs of the connector. */
export interface BindingPreparationDeps {
  readonly clusters: ReadonlyMap<string, ClusterLink>
  /** All that are registered. */
  readonly bindings: () => readonly RegisteredBinding[]
  readonly derivedTopics: DerivedTopicsMode
  readonly losses: LossReport
  readonly runtime: Runtime
}

/** What has to be there before bindings start: marks, the topics they write to, and a look at the ones they used to read. */
export class BindingPreparation {
  readonly #deps: BindingPreparationDeps

  constructor(deps: BindingPreparationDeps) {
    this.#deps = deps
  }

  /** A cluster that is away holds a start up here, until the requests have had their time. */
  async prepare(bindings: readonly RegisteredBinding[], starter: Starter): Promise<void> {
    // First: a binding that is refused leaves no topics.
    const marksChecked = checkMarks(
      bindings.map(({ resolved }) => resolved),
      this.#deps.runtime,
    )
    if (marksChecked !== undefined) await marksChecked
    // One after the other: each is checked against what those before it have found.
    for (const binding of bindings) await requestForStart(binding.cluster, starter, () => this.#findTopics(binding))
    await this.#ensureTopics(
      bindings.flatMap(({ parts }) => parts),
      (cluster, ensure) => requestForStart(cluster, starter, ensure),
    )
    await Promise.all(bindings.map((binding) => this.#lookForStranded(binding, binding.parts)))
  }

  /**
   * Looks for topics that a running binding is to read too, and makes what they need. What cannot be read is told and left
   * out: it must not end what runs. Answers which of those that it reads are gone.
   */
  async findMore(binding: RegisteredBinding, signal: AbortSignal): Promise<readonly string[]> {
    const { parts, gone, violations } = await this.#search(binding)
    for (const { path, problem } of violations)
      this.#deps.runtime.logger.error({ binding: binding.label, option: path }, `${path} ${problem}`)
    if (parts.length === 0 || signal.aborted) return gone
    await this.#ensureTopics(parts)
    await this.#lookForStranded(binding, parts)
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
    asking = (_cluster: string, ensure: () => Promise<void>) => ensure(),
  ): Promise<void> {
    const { clusters, derivedTopics, runtime } = this.#deps
    await Promise.all(
      [...clusters.values()].map(async ({ name, client }) => {
        const own = parts.filter(({ cluster }) => cluster === name)
        if (own.length === 0) return
        await asking(name, () => ensureDerivedTopics(client.admin, own, derivedTopics, runtime))
      }),
    )
  }

  /** Never rejects: a start does not depend on it. */
  async #lookForStranded(binding: RegisteredBinding, parts: readonly ResolvedBinding[]): Promise<void> {
    const { clusters, derivedTopics, losses, runtime } = this.#deps
    const admin = clusters.get(binding.cluster)?.client.admin
    if (admin === undefined || derivedTopics === 'ASSUME') return
    try {
      for (const part of parts)
        for (const stranded of await findStranded(part, admin)) losses.stranded(binding.label, stranded)
    } catch (err) {
      const text = 'Whether records wait in former tiers of the binding could not be learnt; it starts all the same'
      runtime.logger.warn({ err, binding: binding.label }, text)
    }
  }
}
