import { CircuitOpenError } from '../breaker/circuit-open-error.ts'
import { describeThrown, NonRetryableError } from '../errors.ts'
import { type Logger, noopLogger } from '../telemetry/logger.ts'
import { type KnownError, knownChain } from './cause-chain.ts'
import { anyKnownPredicate, type ErrorMatcher } from './error-matcher.ts'
import { type ExceptionOptions, resolveExceptionOptions } from './exception-options.ts'
import { type FailureKind, failureKindIn } from './failure-kind.ts'
import { translateJava } from './java-exceptions.ts'
import {
  deadLetter,
  type ExceptionClassifier,
  type ExceptionRoutingDecision,
  isRoutingDecision,
  nextTier,
  skipToTier,
} from './routing.ts'
import { takeRejection } from './take-rejection.ts'

/** Where EXTENDED failures go: past the first tier, whose wait is too short for them. */
const extendedTier = 2

const decisionByKind: Readonly<Record<FailureKind, ExceptionRoutingDecision>> = {
  PERMANENT: deadLetter(),
  EXTENDED: skipToTier(extendedTier),
  TRANSIENT: nextTier(),
  UNKNOWN: nextTier(),
}

/**
 * Makes the classifier of a binding. The first row that matches decides; rows 1 to 5 look at what was thrown and at
 * all its causes, so that a configured error is found however it is wrapped.
 *
 * | | matches | decision |
 * |---|---|---|
 * | 0 | `classifier` answers | its answer |
 * | 1 | {@link NonRetryableError}, or `nonRetryableExceptions` | DEAD_LETTER |
 * | 2 | `skipToTierMapping` | SKIP_TO_TIER, to the mapped tier |
 * | 3 | `retryableExceptions` | NEXT_TIER |
 * | 4 | {@link CircuitOpenError}: no handler ran, so the lists of its errors do not apply | SKIP_TO_TIER 2 |
 * | 5 | `retryableExceptions` is given, and none matched | DEAD_LETTER |
 * | 6 | the default table: PERMANENT | DEAD_LETTER |
 * | | EXTENDED | SKIP_TO_TIER 2 |
 * | | TRANSIENT | NEXT_TIER |
 * | 7 | anything else | NEXT_TIER |
 *
 * A record only moves forward: a skip to the tier where it failed, or to one before, becomes NEXT_TIER. Otherwise it
 * would go round for ever and never reach the dead letter topic.
 *
 * The result never throws, whatever was thrown. A `classifier` that throws or answers nonsense is logged and passed
 * over.
 */
export function createExceptionClassifier(
  options: ExceptionOptions = {},
  logger: Logger = noopLogger,
): ExceptionClassifier {
  const { classifier, ...configured } = resolveExceptionOptions(options)
  const decideByTable = tableOf(configured)
  return (thrown, currentTier) => {
    const decision = classifier === undefined ? undefined : askSafely(() => classifier(thrown, currentTier), logger)
    return forward(decision ?? decideByTable(thrown), currentTier)
  }
}

type Row = readonly [matches: (chain: readonly KnownError[]) => boolean, decision: ExceptionRoutingDecision]

function tableOf(
  configured: Omit<ReturnType<typeof resolveExceptionOptions>, 'classifier'>,
): (thrown: unknown) => ExceptionRoutingDecision {
  const { nonRetryableExceptions, skipToTierMapping, retryableExceptions } = configured
  const rows: Row[] = [
    [anyOf([NonRetryableError, NonRetryableError.code, ...nonRetryableExceptions]), deadLetter()],
    ...skipToTierMapping.map(([matcher, tier]): Row => [anyOf([matcher]), skipToTier(tier)]),
  ]
  if (retryableExceptions !== undefined)
    rows.push(
      [anyOf(retryableExceptions), nextTier()],
      [anyOf([CircuitOpenError, CircuitOpenError.code]), skipToTier(extendedTier)],
      [() => true, deadLetter()],
    )
  return (thrown) => {
    const chain = knownChain(thrown)
    return rows.find(([matches]) => matches(chain))?.[1] ?? decisionByKind[failureKindIn(chain)]
  }
}

function anyOf(matchers: readonly ErrorMatcher[]): (chain: readonly KnownError[]) => boolean {
  const matches = anyKnownPredicate(matchers.flatMap(translateJava))
  return (chain) => chain.some(matches)
}

function forward(decision: ExceptionRoutingDecision, currentTier: number): ExceptionRoutingDecision {
  return decision.routing === 'SKIP_TO_TIER' && decision.targetTier <= currentTier ? nextTier() : decision
}

function askSafely(ask: () => unknown, logger: Logger): ExceptionRoutingDecision | undefined {
  try {
    const answer = ask()
    if (answer === undefined || isRoutingDecision(answer)) return answer
    takeRejection(answer)
    logger.warn({ answer: describeThrown(answer) }, 'the classifier answered no routing decision: the table decides')
  } catch (error) {
    logger.warn({ reason: describeThrown(error) }, 'the classifier threw: the table decides')
  }
  return undefined
}
