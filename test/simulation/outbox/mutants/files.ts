/** Files in which bugs are planted, relative to the root of the repository. */

/** The outbox's own sources. */
export const outbox = 'packages/outbox/src'
export const relay = `${outbox}/relay/relay.ts`
export const settler = `${outbox}/settle/settler.ts`
export const dispatcher = `${outbox}/dispatch/dispatcher.ts`
export const inFlight = `${outbox}/claim/in-flight.ts`
export const delivery = `${outbox}/dispatch/listener-call.ts`
export const destinations = `${outbox}/destination/destinations.ts`
export const parkedKeys = `${outbox}/keyed/parked-keys.ts`
export const decision = `${outbox}/dispatch/decide-row.ts`
export const leaseHold = `${outbox}/claim/lease-hold.ts`
export const leasedClaims = `${outbox}/claim/leased-claims.ts`
export const soleClaims = `${outbox}/claim/sole-claims.ts`
export const modeMark = `${outbox}/modes/mode-mark.ts`
export const poller = `${outbox}/relay/poller.ts`
export const newRowScan = `${outbox}/relay/new-row-scan.ts`
export const rowCheck = `${outbox}/relay/row-check.ts`
export const writer = `${outbox}/write/writer.ts`
export const publications = `${outbox}/upkeep/publication-watch.ts`
export const shardQueue = `${outbox}/keyed/shard-queue.ts`
export const shardRows = `${outbox}/keyed/shard-rows.ts`
export const shardLeases = `${outbox}/keyed/shard-leases.ts`
export const shardReader = `${outbox}/keyed/shard-reader.ts`
export const settledNumbers = `${outbox}/keyed/settled-numbers.ts`
export const heldKeys = `${outbox}/keyed/held-keys.ts`
export const keyedEngine = `${outbox}/keyed/keyed-engine.ts`
export const keyedDispatcher = `${outbox}/keyed/keyed-dispatcher.ts`
export const deliverInPlace = `${outbox}/modes/deliver-in-place.ts`
export const lockedOutcomes = `${outbox}/settle/locked-outcomes.ts`
export const outcomeQueue = `${outbox}/settle/outcome-queue.ts`
export const knownRows = `${outbox}/keyed/known-rows.ts`
export const readPlan = `${outbox}/keyed/read-plan.ts`
export const readBudget = `${outbox}/loops/read-budget.ts`
