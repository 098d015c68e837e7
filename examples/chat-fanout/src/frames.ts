/** The frames between a client and its worker: JSON texts over a WebSocket. */

import type { MembershipChanged, MessagePersisted } from './events.ts'

/** A frame of a client. `after` is the number of the last message that it has of a chat. */
export type ClientFrame =
  | { readonly type: 'hello'; readonly userId: string; readonly cursors: Readonly<Record<string, number>> }
  | { readonly type: 'sync'; readonly chatId: string; readonly after: number }

/** A frame of a worker. `isMore` asks the client to sync again. */
export type WorkerFrame =
  | { readonly type: 'message'; readonly message: MessagePersisted }
  | { readonly type: 'membership'; readonly change: MembershipChanged }
  | {
      readonly type: 'history'
      readonly chatId: string
      readonly messages: readonly MessagePersisted[]
      readonly isMore: boolean
    }
  | { readonly type: 'ready' }
