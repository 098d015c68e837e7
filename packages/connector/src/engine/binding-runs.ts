import { type Runtime, UnreachableError } from '@waybill/core'
import type { ContainerPlace } from '../api/container-place.ts'
import type { ContainerEvent } from '../group/container-deps.ts'
import type { LossReport } from '../losses/loss-report.ts'
import { listedTopics } from '../options/topic-selection.ts'
import { announceEvent } from '../run/announce-event.ts'
import { BindingRun, type BindingRunDeps, type ContainerFactory } from '../run/binding-run.ts'
import type { ClusterLink } from '../run/cluster-link.ts'
import type { RegisteredBinding } from '../run/registered-binding.ts'

/** The dependencies of runs. */
export interface BindingRunsDeps {
  readonly instance: string
  readonly runtime: Runtime
  readonly losses: LossReport
  readonly clusterOf: (binding: RegisteredBinding) => ClusterLink
  /** Discovers the topics of a binding that selects them by a regular expression. */
  readonly discoverTopics: (binding: RegisteredBinding, signal: AbortSignal) => Promise<readonly string[]>
  readonly createContainer?: ContainerFactory
}

/** Creates a run for each start of a binding, and processes its events. */
export class BindingRuns {
  readonly #deps: BindingRunsDeps

  constructor(deps: BindingRunsDeps) {
    this.#deps = deps
  }

  create(of: RegisteredBinding): BindingRun {
    const { instance, createContainer, clusterOf, runtime } = this.#deps
    const { client, publisher } = clusterOf(of)
    return new BindingRun({
      binding: of.resolved,
      ...this.#topicsOf(of),
      client,
      publisher,
      runtime,
      instance,
      ...(createContainer === undefined ? {} : { createContainer }),
      hold: (reason) => of.hold(reason),
      release: (reason) => of.release(reason),
      onEvent: (event, place) => this.#onContainerEvent(of, event, place),
    })
  }

  #topicsOf(of: RegisteredBinding): Pick<BindingRunDeps, 'topics'> {
    if (listedTopics(of.resolved.selection) !== undefined) return {}
    const discover = (signal: AbortSignal): Promise<readonly string[]> => this.#deps.discoverTopics(of, signal)
    return { topics: { parts: () => of.parts, discover, forget: (topics) => of.forget(topics) } }
  }

  #onContainerEvent(binding: RegisteredBinding, event: ContainerEvent, place: ContainerPlace): void {
    const { losses } = this.#deps
    switch (event.type) {
      case 'PAUSE_BINDING':
        binding.hold('EXHAUSTED')
        break
      case 'POSITION_LOST':
        losses.positionLost(binding.label, event.loss)
        break
      case 'UNACCOUNTED':
        losses.unaccounted(binding.label, event.partition, event.problem)
        break
      case 'DEAD_LETTERED':
      case 'ASSIGNED':
      case 'RELEASED':
        announceEvent(binding.label, place.topic, event)
        break
      default:
        throw new UnreachableError(event)
    }
  }
}
