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
