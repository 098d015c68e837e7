/** Files in which bugs are planted, relative to the root of the repository. */

/** The connector's own sources. */
export const connector = 'packages/connector/src'
export const laneWorker = `${connector}/partition/lanes/lane-worker.ts`
export const partitionShell = `${connector}/partition/partition-shell.ts`
export const recordSettler = `${connector}/partition/lanes/record-settler.ts`
export const batchRun = `${connector}/partition/lanes/batch-run.ts`
export const member = `${connector}/group/member.ts`
export const keyTurns = `${connector}/partition/key-order/key-turns.ts`
export const keyChains = `${connector}/partition/key-order/key-chains.ts`
export const orderedWorker = `${connector}/partition/key-order/key-ordered-worker.ts`
export const waitingBook = `${connector}/partition/key-order/waiting-book.ts`
export const waitingLog = `${connector}/partition/key-order/waiting-log.ts`
export const waitingAppender = `${connector}/partition/key-order/waiting-appender.ts`
export const recordMover = `${connector}/partition/lanes/record-mover.ts`
export const derivedHeaders = `${connector}/records/derived-headers.ts`
export const hop = `${connector}/records/hop.ts`
