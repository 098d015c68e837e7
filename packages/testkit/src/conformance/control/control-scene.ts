import type { Control } from '@waybill/connector'
import type {
  ControlCommand,
  ControlledInstance,
  ControlRequest,
  ControlTarget,
  InstanceAnswer,
} from '@waybill/connector/internal'
import { StateError } from '@waybill/core'
import type { Suite } from '../suite/suite.ts'
import { until } from '../suite/until.ts'
import type { ControlCapability, ControlUnderTest } from './control-harness.ts'

/** Collects the tests of a part of this suite. */
export type ControlSuite = Suite<ControlScene, ControlCapability>

/** The binding of commands in tests where any binding will do. */
export const target: ControlTarget = { cluster: 'default', groupId: 'shipping', binding: 'orders' }

/** Returns a request with a command. */
export function requestOf(command: ControlCommand, to: ControlTarget = target): ControlRequest {
  return { target: to, command, operator: { by: 'alice', reason: 'ticket 7' } }
}

/** An instance that logs its commands. */
export interface ScriptedInstance extends ControlledInstance {
  readonly seen: readonly ControlRequest[]
  /** The states that it was told to establish, and its ways out of and into its groups. */
  readonly told: readonly string[]
}

/** The controls of one test, and the instances that joined them. */
export class ControlScene implements AsyncDisposable {
  readonly subject: ControlUnderTest
  readonly #joined: Disposable[] = []

  constructor(subject: ControlUnderTest) {
    this.subject = subject
  }

  get control(): Control {
    return this.subject.control
  }

  /** With FLEET. */
  get other(): Control {
    if (this.subject.other === null)
      throw new StateError('The harness says that it reaches a fleet, and has one process.')
    return this.subject.other
  }

  /** Joins an instance that gives this answer to every command. Other fields are those of a running binding. */
  join(
    name = 'host-1',
    answer: (request: ControlRequest) => Partial<InstanceAnswer> | Promise<Partial<InstanceAnswer>> = () => ({}),
    control: Control = this.control,
    bindings: readonly ControlTarget[] = [target],
  ): ScriptedInstance & Disposable {
    const seen: ControlRequest[] = []
    const told: string[] = []
    const answerTo = async (request: ControlRequest): Promise<InstanceAnswer> => {
      seen.push(request)
      return { instance: name, outcome: 'APPLIED', state: 'RUNNING', ...(await answer(request)) }
    }
    const instance: ControlledInstance = {
      name,
      apply: answerTo,
      async obey(_, state) {
        told.push(state)
      },
      async obeyTiers(_, tiers) {
        told.push(`TIERS ${tiers.join()}`)
      },
      async away() {
        told.push('AWAY')
        return { instance: name, outcome: 'APPLIED', state: 'PAUSED' }
      },
      async back() {
        told.push('BACK')
        return { instance: name, outcome: 'APPLIED', state: 'PAUSED' }
      },
      statuses: () => bindings.map((one) => ({ target: one, state: 'RUNNING', pausedBy: [] })),
    }
    const place = control.join(instance)
    control.begin()
    this.#joined.push(place)
    return { ...instance, seen, told, [Symbol.dispose]: () => place[Symbol.dispose]() }
  }

  /** Waits until every control knows these instances and no others. */
  async knows(...names: readonly string[]): Promise<void> {
    const expected = names.toSorted().join()
    for (const control of [this.control, this.other])
      await until(
        this.subject.runtime,
        async () => (await control.statuses()).map(({ instance }) => instance).toSorted(),
        (found) => found.join() === expected,
      )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const place of this.#joined) place[Symbol.dispose]()
  }
}
