/** For the other packages of this repository and their tests: no part of the API, and free to change in any release. */

export { nothingWritten } from './event/error-context.ts'
export { nameOf } from './event/event-name.ts'
export { latestInstantMs } from './event/instant.ts'
export { requireText } from './event/require-text.ts'
export { anyErrorPredicate } from './failure/error-matcher.ts'
export { MovableDeadline } from './lifecycle/deadline.ts'
export { runtimeRule } from './runtime/runtime-rule.ts'
