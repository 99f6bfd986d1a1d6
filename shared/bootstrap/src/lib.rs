//! What every Lambda function does before and around its handler.
