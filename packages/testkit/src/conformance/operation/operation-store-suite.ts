import { declareSuite } from '../suite/suite.ts'
import type { SuiteRunner } from '../suite/suite-runner.ts'
import { OperationScene } from './operation-scene.ts'
import type { OperationStoreHarness } from './operation-store-harness.ts'
import { recordPart } from './record-part.ts'
import { runPart } from './run-part.ts'
import { wishPart } from './wish-part.ts'

/** Declares the tests of an `OperationStore`: one runner at a time, nothing settled twice, wishes of operators followed. */
export function operationStoreSuite(harness: OperationStoreHarness, runner: SuiteRunner): void {
  const parts = [recordPart, wishPart, runPart]
  declareSuite('what an operation store answers', harness, runner, (subject) => new OperationScene(subject), parts)
}
