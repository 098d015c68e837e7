/** The JSON schemas of the API: they check requests, shape answers, and are the OpenAPI document. */

import { orderStatuses } from '../../domain/order/order-status.ts'

const status = { type: 'string', enum: orderStatuses } as const
const id = { type: 'string', pattern: '^[0-9A-HJKMNP-TV-Z]{26}$', examples: ['01KD0ZW3V8N5T9R2X4C6B8D0F1'] } as const
const instant = { type: 'string', format: 'date-time' } as const
const count = { type: 'integer', minimum: 0 } as const

const item = {
  type: 'object',
  additionalProperties: false,
  required: ['sku', 'quantity', 'unitPriceMinor'],
  properties: {
    sku: { type: 'string', minLength: 1, maxLength: 64, examples: ['A-1'] },
    quantity: { type: 'integer', minimum: 1, maximum: 100_000, examples: [2] },
    unitPriceMinor: { type: 'integer', minimum: 0, maximum: 1_000_000_000_000, examples: [1_250] },
  },
} as const

export const placeOrderBody = {
  type: 'object',
  additionalProperties: false,
  required: ['items', 'currency'],
  properties: {
    items: { type: 'array', minItems: 1, maxItems: 100, items: item },
    currency: { type: 'string', pattern: '^[A-Z]{3}$', examples: ['EUR'] },
  },
} as const

export const changeStatusBody = {
  type: 'object',
  additionalProperties: false,
  required: ['status'],
  properties: {
    status,
    version: { ...count, description: 'The version that you saw. Another one is a conflict.' },
  },
} as const

export const orderPath = { type: 'object', required: ['id'], properties: { id } } as const

export const listQuery = { type: 'object', additionalProperties: false, properties: { status } } as const

export const pageQuery = {
  type: 'object',
  additionalProperties: false,
  properties: {
    page: { type: 'integer', minimum: 0, maximum: 1_000_000, default: 0 },
    size: { type: 'integer', minimum: 1, maximum: 10_000, default: 20 },
    status,
  },
} as const

export const orderAnswer = {
  type: 'object',
  required: ['id', 'status', 'version', 'ownerSubject', 'items', 'totalMinor', 'currency', 'createdAt', 'updatedAt'],
  properties: {
    id,
    status,
    version: count,
    ownerSubject: { type: 'string' },
    items: { type: 'array', items: item },
    totalMinor: count,
    currency: { type: 'string' },
    createdAt: instant,
    updatedAt: instant,
  },
} as const

export const listAnswer = { type: 'array', items: orderAnswer } as const

export const pageAnswer = {
  type: 'object',
  required: ['items', 'page', 'size', 'total'],
  properties: { items: listAnswer, page: count, size: count, total: count },
} as const

export const errorAnswer = {
  type: 'object',
  required: ['code', 'message', 'requestId', 'timestamp'],
  properties: {
    code: { type: 'string' },
    message: { type: 'string' },
    requestId: { type: 'string' },
    timestamp: instant,
  },
} as const
