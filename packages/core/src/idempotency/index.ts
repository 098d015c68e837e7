export type { IdempotencyStore } from './idempotency-store.ts'
export type { Inbox } from './inbox.ts'
