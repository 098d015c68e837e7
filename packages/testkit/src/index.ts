export {
  type ContainerStateAssertions,
  containerStateAssertions,
} from './connector/container-state-assertions.ts'
export {
  type DeadLetterAssertions,
  deadLetterAssertions,
  type ExpectedDeadLetter,
} from './connector/dead-letter-assertions.ts'
export { createFailingHandler, type FailingHandlerOptions } from './connector/failing-handler.ts'
export { IntendedFailureError } from './connector/intended-failure-error.ts'
export type { Journal, WrittenRecord } from './connector/journal.ts'
export type { ExpectedBytes, ExpectedRecord } from './connector/record-match.ts'
export {
  createRecordingHandler,
  type HandlerCall,
  type HandlerContext,
  type RecordingHandler,
  type RecordingHandlerOptions,
} from './connector/recording-handler.ts'
export { settled } from './connector/settlement.ts'
export { createSlowHandler } from './connector/slow-handler.ts'
export type { RecordToWrite, TestCluster, TestHandlerOptions } from './connector/test-cluster.ts'
export { type HandlerTest, type HandlerTestOptions, testHandlers } from './connector/test-handlers.ts'
export {
  type ExpectedTierRecord,
  type TierAssertions,
  type TierRecord,
  tierAssertions,
} from './connector/tier-assertions.ts'
export type { TopicAssertions } from './connector/topic-assertions.ts'
export { type EventuallyOptions, eventually } from './eventually.ts'
export {
  createFaultProxy,
  type FaultDelay,
  type FaultDirection,
  type FaultLifetime,
  type FaultProxy,
  type FaultProxyOptions,
  type FaultProxyStats,
} from './fault-proxy/fault-proxy.ts'
export type { Leak, LeakKind } from './leak/leak.ts'
export { type LeakCheckOptions, LeakError, leakCheck } from './leak/leak-check.ts'
export { createSignal, type Signal, type SignalOptions, type SignalWait } from './signal.ts'
export { WaitDeadlineError } from './wait-deadline.ts'
