/** Where bugs are planted, from the root of the repository. */

/** The connector's own sources. */
export const connector = 'packages/kafka/src/connector'
export const laneWorker = `${connector}/container/lane-worker.ts`
export const batchRun = `${connector}/container/batch-run.ts`
export const member = `${connector}/container/member.ts`
export const keyTurns = `${connector}/waiting/key-turns.ts`
export const keyChains = `${connector}/waiting/key-chains.ts`
export const orderedWorker = `${connector}/waiting/key-ordered-worker.ts`
export const waitingBook = `${connector}/waiting/waiting-book.ts`
export const waitingLog = `${connector}/waiting/waiting-log.ts`
export const waitingAppender = `${connector}/waiting/waiting-appender.ts`
export const recordMover = `${connector}/container/record-mover.ts`
export const derivedHeaders = `${connector}/record/derived-headers.ts`
export const hop = `${connector}/record/hop.ts`
