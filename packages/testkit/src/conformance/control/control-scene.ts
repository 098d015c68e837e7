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
  ): ScriptedInstance & Disposable {
    const seen: ControlRequest[] = []
    const instance: ControlledInstance = {
      name,
      async apply(request) {
        seen.push(request)
        return { instance: name, outcome: 'APPLIED', state: 'RUNNING', ...(await answer(request)) }
      },
      statuses: () => [{ instance: name, target, state: 'RUNNING', pausedBy: [] }],
    }
    const place = control.join(instance)
    this.#joined.push(place)
    return { ...instance, seen, [Symbol.dispose]: () => place[Symbol.dispose]() }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const place of this.#joined) place[Symbol.dispose]()
  }
}
