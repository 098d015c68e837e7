import { declareSuite } from '../suite/suite.ts'
import type { SuiteRunner } from '../suite/suite-runner.ts'
import { agreementPart } from './agreement-part.ts'
import type { DeadLetterIndexHarness } from './dead-letter-index-harness.ts'
import { DeadLetterIndexScene } from './dead-letter-index-scene.ts'
import { fillPart } from './fill-part.ts'
import { searchPart } from './search-part.ts'
import { statePart } from './state-part.ts'

/** Declares the tests of a `DeadLetterIndex`: one reader moves a position, one operation a state, and counts are exact. */
export function deadLetterIndexSuite(harness: DeadLetterIndexHarness, runner: SuiteRunner): void {
  declareSuite('what a dead letter index answers', harness, runner, (subject) => new DeadLetterIndexScene(subject), [
    fillPart,
    searchPart,
    statePart,
    agreementPart,
  ])
}
