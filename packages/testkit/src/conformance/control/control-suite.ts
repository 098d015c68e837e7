import { declareSuite } from '../suite/suite.ts'
import type { SuiteRunner } from '../suite/suite-runner.ts'
import { commandPart } from './command-part.ts'
import type { ControlHarness } from './control-harness.ts'
import { ControlScene } from './control-scene.ts'
import { desiredPart } from './desired-part.ts'
import { fleetPart } from './fleet-part.ts'

/** Declares the tests of a `Control`: each command arrives once and in order, and its desired state is stored. */
export function controlSuite(harness: ControlHarness, runner: SuiteRunner): void {
  const parts = [commandPart, desiredPart, fleetPart]
  declareSuite('what a control does with commands', harness, runner, (subject) => new ControlScene(subject), parts)
}
