/** Chats, their members and their messages, on PostgreSQL and SQLite. */

import type { SqlDatabase } from '@waybill/sql'
import type { MessagePersisted } from '../events.ts'

const tables = [
  'CREATE TABLE IF NOT EXISTS chat (chat_id TEXT PRIMARY KEY, name TEXT NOT NULL, sequence BIGINT NOT NULL)',
  'CREATE TABLE IF NOT EXISTS chat_member (chat_id TEXT NOT NULL, user_id TEXT NOT NULL, PRIMARY KEY (chat_id, user_id))',
  'CREATE INDEX IF NOT EXISTS chat_member_user ON chat_member (user_id)',
  `CREATE TABLE IF NOT EXISTS chat_message (
     chat_id TEXT NOT NULL, sequence BIGINT NOT NULL, client_message_id TEXT NOT NULL, message TEXT NOT NULL,
     PRIMARY KEY (chat_id, sequence), UNIQUE (chat_id, client_message_id))`,
]

/** The tables of the chat. Methods that take a transaction write in it. */
export class ChatStore<Tx> {
  readonly database: SqlDatabase<Tx>

  constructor(database: SqlDatabase<Tx>) {
    this.database = database
  }

  async createTables(): Promise<void> {
    for (const text of tables) await this.#read(text, [])
  }

  async addChat(tx: Tx, chatId: string, name: string): Promise<void> {
    await this.#write(tx, 'INSERT INTO chat (chat_id, name, sequence) VALUES (?, ?, 0)', [chatId, name])
  }

  async addMember(tx: Tx, chatId: string, userId: string): Promise<void> {
    await this.#write(tx, 'INSERT INTO chat_member (chat_id, user_id) VALUES (?, ?)', [chatId, userId])
  }

  /** Locks a chat until the transaction ends, and returns the number of its last message. */
  async lock(tx: Tx, chatId: string): Promise<number> {
    const text = 'UPDATE chat SET sequence = sequence WHERE chat_id = ? RETURNING sequence'
    const [row] = await this.#write(tx, text, [chatId])
    if (row === undefined) throw new Error(`There is no chat ${chatId}.`)
    return Number(row['sequence'])
  }

  async addMessage(tx: Tx, message: MessagePersisted): Promise<void> {
    const { chat_id: chatId, sequence, client_message_id: clientMessageId } = message
    const text = 'INSERT INTO chat_message (chat_id, sequence, client_message_id, message) VALUES (?, ?, ?, ?)'
    await this.#write(tx, text, [chatId, sequence, clientMessageId, JSON.stringify(message)])
    await this.#write(tx, 'UPDATE chat SET sequence = ? WHERE chat_id = ?', [sequence, chatId])
  }

  /** Returns the message that a client sent under this id before. */
  async messageOf(tx: Tx, chatId: string, clientMessageId: string): Promise<MessagePersisted | undefined> {
    const text = 'SELECT message FROM chat_message WHERE chat_id = ? AND client_message_id = ?'
    const [row] = await this.#write(tx, text, [chatId, clientMessageId])
    return row && messageOf(row)
  }

  async membersOf(chatId: string): Promise<readonly string[]> {
    const rows = await this.#read('SELECT user_id FROM chat_member WHERE chat_id = ? ORDER BY user_id', [chatId])
    return rows.map((row) => String(row['user_id']))
  }

  async chatsOf(userId: string): Promise<readonly string[]> {
    const rows = await this.#read('SELECT chat_id FROM chat_member WHERE user_id = ? ORDER BY chat_id', [userId])
    return rows.map((row) => String(row['chat_id']))
  }

  /** Returns messages behind a sequence number, oldest first, if the user is a member of the chat. */
  async messagesAfter(
    userId: string,
    chatId: string,
    after: number,
    limit: number,
  ): Promise<readonly MessagePersisted[]> {
    const text =
      'SELECT m.message FROM chat_message m JOIN chat_member u ON u.chat_id = m.chat_id AND u.user_id = ? ' +
      'WHERE m.chat_id = ? AND m.sequence > ? ORDER BY m.sequence LIMIT ?'
    return (await this.#read(text, [userId, chatId, after, limit])).map(messageOf)
  }

  #write(tx: Tx, text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    return this.#run(this.database.enlist(tx).currentConnection(), text, values)
  }

  #read(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    return this.database.connection((connection) => this.#run(connection, text, values))
  }

  async #run(connection: Connection, text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    let place = 0
    const dialectText = this.database.dialect === 'postgres' ? text.replaceAll('?', () => `$${++place}`) : text
    return (await connection.query(dialectText, values)).rows
  }
}

type Row = Readonly<Record<string, unknown>>

interface Connection {
  query(text: string, values: readonly unknown[]): Promise<{ readonly rows: readonly Row[] }>
}

function messageOf(row: Row): MessagePersisted {
  return JSON.parse(String(row['message'])) as MessagePersisted
}
