import { declareSuite } from '../suite/suite.ts'
import type { SuiteRunner } from '../suite/suite-runner.ts'
import { buildPart } from './build-part.ts'
import { positionPart } from './position-part.ts'
import { ProjectionScene } from './projection-scene.ts'
import type { ProjectionStoreHarness } from './projection-store-harness.ts'
import { quarantinePart } from './quarantine-part.ts'
import { rowPart } from './row-part.ts'

/** Declares the tests of a `ProjectionStore`: conditional rows, positions, builds and quarantined keys commit together. */
export function projectionStoreSuite(harness: ProjectionStoreHarness, runner: SuiteRunner): void {
  const parts = [rowPart, positionPart, quarantinePart, buildPart]
  declareSuite('what a projection store keeps', harness, runner, (subject) => new ProjectionScene(subject), parts)
}
